import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { setTimeout as wait } from 'node:timers/promises';
import { openContext, type WatchedContext } from '@tocsin/browser/browser';
import {
  createDashboardSystem,
  type DashboardSystem,
  type DashboardUser,
} from '@tocsin/browser/dashboard-system';
import { Seam } from '@tocsin/browser/seams';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { checkOf, failureOf } from '@tocsin/db/testing/check-record';
import { insertMonitors } from '@tocsin/lab/monitors';
import { Random } from '@tocsin/lab/random';
import type { Page } from 'playwright-core';

/* Set by the environment, to repeat a run. */
const SEED = Number(process.env['SEED'] ?? 1);
const ROUNDS = Number(process.env['ROUNDS'] ?? 200);
const LOADS = Number(process.env['LOADS'] ?? 20);
const WAVE_MONITORS = Number(process.env['MONITORS'] ?? 10_000);

const MONITORS = 6;
/** Pages that are open at the same time. */
const TABS = 4;
const MAX_DELAY_MS = 1_200;
/** The page must equal the server this soon after the last change and the last delay. */
const WITHIN_MS = 3_000;
/** Records of a wave that are written together. */
const BATCH = 500;

// Only ends a campaign that hangs. It says how far it is.
jest.setTimeout(3_600_000);

let dashboard: DashboardSystem;
let owner: DashboardUser;
let watched: WatchedContext;
beforeAll(async () => {
  dashboard = await createDashboardSystem();
  owner = await dashboard.createOwner();
  watched = await openContext(dashboard.browser, { viewport: { width: 1_280, height: 900 } });
  await watched.context.addCookies(owner.cookies);
});
afterAll(() => dashboard.close());
afterEach(() => {
  expect(watched.problems.filter((one) => !one.includes('ERR_INTERNET_DISCONNECTED'))).toEqual([]);
});

async function record(ids: readonly string[], status: 'UP' | 'DOWN'): Promise<void> {
  for (let from = 0; from < ids.length; from += BATCH)
    await recordChecks(
      dashboard.system.database.db,
      ids.slice(from, from + BATCH).map((id) => (status === 'UP' ? checkOf(id) : failureOf(id))),
    );
}

async function namesDown(): Promise<string[]> {
  const { monitors } = await owner.call('GET /api/dashboard/overview');
  return monitors.flatMap(({ name, status }) => (status === 'DOWN' ? [name] : [])).toSorted();
}

/** What each page shows about the monitors that are down. */
const SHOWN: Readonly<Record<string, (page: Page) => Promise<string[]>>> = {
  '/': (page) => page.locator('tbody tr[data-status="DOWN"] th a').allInnerTexts(),
  '/incidents': async (page) => {
    const open = page.getByRole('main').getByRole('listitem').filter({ hasText: 'Down' });
    return open.getByRole('link', { name: /^Monitor \d+$/ }).allInnerTexts();
  },
};

interface Tab {
  readonly page: Page;
  readonly path: string;
}

/** @returns milliseconds until the page showed the expected state, or null if it did not in time */
async function timeToTruth({ page, path }: Tab, expected: readonly string[]): Promise<number | null> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < WITHIN_MS) {
    const shown = (await SHOWN[path]?.(page)) ?? [];
    if (shown.toSorted().join() === expected.join()) return performance.now() - startedAt;
    await wait(20);
  }
  return null;
}

test(`a page equals the server within ${WITHIN_MS} ms after any interleaving (seed ${SEED})`, async () => {
  const monitors = await insertMonitors(dashboard.system, {
    count: MONITORS,
    intervalSeconds: 3_600,
    url: () => dashboard.target.url('/'),
  });
  const wrong: string[] = [];
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += TABS) {
    const random = new Random(SEED, String(round));
    const tabs = await Promise.all(
      Array.from({ length: TABS }, (_, tab) => openTab(new Random(SEED, `${round} ${tab}`))),
    );
    for (let change = random.integer(1, 5); change > 0; change -= 1) {
      await wait(random.integer(0, 800));
      const ids = monitors.filter(() => random.chance(0.5));
      await record(ids, random.pick(['UP', 'DOWN']));
      if (random.chance(0.1)) await breakConnection(tabs, random.integer(0, 500));
    }
    for (const { page } of tabs) await page.getByText('Live', { exact: true }).waitFor();
    await wait(2 * MAX_DELAY_MS);
    const expected = await namesDown();
    const results = await Promise.all(tabs.map((tab) => timeToTruth(tab, expected)));
    for (const [index, took] of results.entries()) {
      const { page, path } = tabs[index] ?? { page: null, path: '/' };
      if (took !== null) times.push(took);
      else if (page !== null)
        wrong.push(
          `${round} ${index}, ${path}: not ${expected.join()}\n${await page.locator('main').innerText()}`,
        );
    }
    await Promise.all(tabs.map(({ page }) => page.close()));
    report('interleavings', times, wrong);
  }
  expect(wrong).toEqual([]);
});

/** Opens a page whose requests take random times on their way to the server and back. */
async function openTab(random: Random): Promise<Tab> {
  const draw = (): number => (random.chance(0.3) ? 0 : random.integer(0, MAX_DELAY_MS));
  const page = await watched.context.newPage();
  for (const route of ['overview', 'incidents*', 'stream*']) {
    const seam = await Seam.open(page, dashboard.api.port, `/api/dashboard/${route}`);
    seam.delay(() => ({ request: draw(), response: route === 'stream*' ? null : draw() }));
  }
  const path = random.pick(Object.keys(SHOWN));
  await page.goto(`/default${path}`, { waitUntil: 'commit' });
  return { page, path };
}

/** Pages that are still loading their scripts would fail for good. */
async function breakConnection(tabs: readonly Tab[], forMs: number): Promise<void> {
  for (const { page } of tabs) await page.getByText('Live', { exact: true }).waitFor();
  await watched.context.setOffline(true);
  await wait(forMs);
  await watched.context.setOffline(false);
}

test(`a list that is opened in mid-wave is right when the wave ends, with ${WAVE_MONITORS} monitors`, async () => {
  const monitors = await insertMonitors(dashboard.system, {
    count: WAVE_MONITORS,
    intervalSeconds: 3_600,
    url: () => dashboard.target.url('/'),
  });
  const random = new Random(SEED, 'wave');
  const wrong: string[] = [];
  const times: number[] = [];
  for (let load = 0; load < LOADS; load += 1) {
    const page = await watched.context.newPage();
    const wave = record(monitors, load % 2 === 0 ? 'DOWN' : 'UP');
    await wait(random.integer(0, 4_000));
    const opening = page.goto('/default');
    await Promise.all([wave, opening]);
    const down = (await namesDown()).length;
    const startedAt = performance.now();
    let shown: number | null = null;
    while (shown !== down && performance.now() - startedAt < 4 * WITHIN_MS) {
      shown = await shownDown(page);
      await wait(20);
    }
    if (shown === down) times.push(performance.now() - startedAt);
    else wrong.push(`load ${load}: ${shown} instead of ${down}`);
    await page.close();
    report('loads', times, wrong);
  }
  expect(wrong).toEqual([]);
});

function report(what: string, times: readonly number[], wrong: readonly string[]): void {
  const slowest = Math.max(0, ...times).toFixed();
  process.stdout.write(
    `${what}: ${times.length} right, slowest after ${slowest} ms; ${wrong.length} wrong\n`,
  );
}

/** Returns the number of monitors that are down according to the heading, or null if the heading has no number yet. */
async function shownDown(page: Page): Promise<number | null> {
  const text = await page.locator('main').innerText();
  const match = /([\d,]+) down/.exec(text);
  if (match !== null) return Number(match[1]?.replaceAll(',', ''));
  return /All [\d,]+ monitors are up|[\d,]+ up/.test(text) ? 0 : null;
}
