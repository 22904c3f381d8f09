import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { findViolations, openContext, settle, type WatchedContext } from '@tocsin/browser/browser';
import {
  createDashboardSystem,
  type DashboardSystem,
  type DashboardUser,
} from '@tocsin/browser/dashboard-system';
import { until } from '@tocsin/embedded/testing/until';
import type { Locator, Page } from 'playwright-core';

const DAY_MS = 86_400_000;
const OUTAGE_MS = 90_000;
const CAUSE = 'Expected a status from 200 to 399, got 503';

let dashboard: DashboardSystem;
let owner: DashboardUser;
let watched: WatchedContext;
let page: Page;
/** Down since its first check; it was also down for 90 s some weeks ago. */
let shop: string;
/** Up in one region; the other one has no checker, and no channel has its alerts. */
let elsewhere: string;
let outageAt: number;

beforeAll(async () => {
  dashboard = await createDashboardSystem();
  owner = await dashboard.createOwner();
  const create = async (body: { name: string; url: string; regions: string[] }): Promise<string> => {
    const fields = { ...body, interval: 5, timeout: 60 };
    return (await owner.call('POST /api/dashboard/monitors', { body: fields })).monitor.id;
  };
  shop = await create({ name: 'Shop', url: dashboard.broken.url('/'), regions: [] });
  const regions = ['default', 'ap-south'];
  elsewhere = await create({ name: 'Elsewhere', url: dashboard.target.url('/'), regions });
  const channel = { name: 'On call', url: dashboard.receiver.url('/hook'), monitorIds: [shop] };
  await owner.call('POST /api/dashboard/channels', { body: channel });
  await insertOutage();
  const { system } = dashboard;
  await Promise.all([
    system.service('checker', { REGION: 'default' }).start(),
    system.service('notifier').start(),
  ]);
  await until('both statuses', async () => {
    const { monitors } = await owner.call('GET /api/dashboard/monitors');
    return ['Shop DOWN', 'Elsewhere UP'].every((wanted) =>
      monitors.some(({ name, status }) => `${name} ${status}` === wanted),
    );
  });
  watched = await openContext(dashboard.browser, { viewport: { width: 1_280, height: 900 } });
  await watched.context.addCookies(owner.cookies);
  page = await watched.context.newPage();
});
afterAll(() => dashboard.close());
afterEach(() => expect(watched.problems).toEqual([]));

/** Makes the monitor 100 days old, with one outage of 90 s. */
async function insertOutage(): Promise<void> {
  const { pool } = dashboard.system.database;
  outageAt = Date.now() - 40 * DAY_MS;
  const [down, up] = [outageAt, outageAt + OUTAGE_MS].map((time) => new Date(time).toISOString());
  await pool.query("update monitors set created_at = created_at - interval '100 days' where id = $1", [shop]);
  await pool.query(
    `insert into incidents (id, account_id, monitor_id, opened_at, resolved_at, cause, error_detail, region)
     select $2, account_id, id, $3, $4, 'TIMEOUT', 'no response within 4 s', 'default' from monitors where id = $1`,
    [shop, randomUUID(), down, up],
  );
  await pool.query(
    `insert into status_changes (id, account_id, monitor_id, from_status, to_status, region, timestamp,
       webhook_events, channel_ids, dispatched_at)
     select gen_random_uuid(), account_id, m.id, c.before, c.after, 'default', c.at, '[]', '{}', c.at
     from monitors m cross join (values ('PENDING', 'DOWN', $2::timestamptz), ('DOWN', 'UP', $3::timestamptz))
       as c (before, after, at)
     where m.id = $1`,
    [shop, down, up],
  );
}

async function open(path: string): Promise<void> {
  await page.goto(path);
  await settle(page);
}

const panel = (name: string): Locator => page.getByRole('region', { name, exact: true });
const chart = (): Locator => page.getByRole('slider', { name: 'Status over time' });

/** The period of the URL in epoch milliseconds; null without one. */
function zoomed(): { from: number; to: number } | null {
  const { searchParams } = new URL(page.url());
  const [from, to] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? ''));
  return from === undefined || to === undefined || Number.isNaN(from + to) ? null : { from, to };
}

test('a monitor that is down says what, since when, where, what it responded, who was told and what changed', async () => {
  await open(`/monitors/${shop}`);
  const situation = panel('What is wrong');
  await situation.getByRole('alert').getByText(CAUSE).waitFor();
  await situation.getByText(/^default: Failing, /).waitFor();
  await situation.getByText(/^Status code 503, checked from default, /).waitFor();
  await situation.getByRole('link', { name: 'On call' }).waitFor();
  await situation.getByText('Delivered', { exact: true }).waitFor();
  await situation.getByText(/^Monitor created, by Ada Byron/).waitFor();
  const labels = await situation.locator('dl').first().locator(':scope > div > dt').allInnerTexts();
  expect(labels).toEqual(['Since', 'Where', 'Response', 'Notified', 'Changed']);
  const panels = await page
    .getByRole('region')
    .evaluateAll((regions) => regions.map(({ ariaLabel }) => ariaLabel));
  expect(panels.slice(0, 3)).toEqual(['What is wrong', 'History', 'Regions']);
  expect(panels.at(-1)).toBe('Configuration');
  await situation.getByRole('button', { name: 'Response', exact: true }).click();
  await situation.getByText('Status code 503', { exact: true }).waitFor();
  expect(await findViolations(page)).toEqual([]);
});

test('the figures of an outage agree, and follow every check', async () => {
  // The clock of the page moves only here: less than the minute after which figures are reloaded without a check.
  const { context } = await openContext(dashboard.browser);
  await context.addCookies(owner.cookies);
  const slow = await context.newPage();
  await slow.clock.install();
  await slow.goto(`/monitors/${shop}`);
  await settle(slow);
  await slow.clock.pauseAt(Date.now() + 1_000);
  const read = (): Promise<number[]> =>
    slow.evaluate(() => {
      const { textContent: text } = document.querySelector('main') ?? document.body;
      const [, checks, failed] = /([\d,]+) checks?, ([\d,]+) failed/.exec(text) ?? [];
      const cell = document.querySelector('section[aria-label="Regions"] tbody td')?.textContent ?? '';
      const inARow = /Failing, (\d+) /.exec(cell)?.[1];
      return [checks, failed, inARow].map(Number);
    });
  const [first = 0] = await read();
  let shown = first;
  for (let step = 0; step < 10 && shown < first + 2; step += 1) {
    const known = (await latestEvents()).length;
    await until('the next check', async () => (await latestEvents()).length > known);
    await slow.clock.runFor(4_000);
    const [checks = 0, failed, inARow] = await read();
    // Every check of this monitor has failed.
    expect([failed, inARow]).toEqual([checks, checks]);
    shown = checks;
  }
  expect(shown).toBeGreaterThanOrEqual(first + 2);
  await context.close();
});

async function latestEvents(): Promise<unknown[]> {
  const query = { limit: '500' };
  return (await owner.call('GET /api/dashboard/monitors/:id/events', { id: shop, query })).events;
}

test('an outage of 90 s is visible at its place in 90 days', async () => {
  await open(`/monitors/${shop}?range=90d`);
  await chart().scrollIntoViewIfNeeded();
  const strip = page.getByTestId('states');
  const outage = strip.locator('[data-status="DOWN"]').first();
  const [bar, whole] = [await outage.boundingBox(), await strip.boundingBox()];
  if (bar === null || whole === null) throw new Error('The strip is not visible');
  expect(bar.width).toBeGreaterThanOrEqual(2);
  const part = (bar.x - whole.x) / whole.width;
  // The axis begins at a midnight, 89 to 90 days ago.
  expect(part).toBeGreaterThan(49 / 90);
  expect(part).toBeLessThan(51 / 90);
  await page.mouse.move(bar.x + 1, bar.y + bar.height / 2);
  const tooltip = chart().getByText('Down for 1 min 30 s');
  await tooltip.waitFor();
  await chart().getByText('No response within 4 s').waitFor();
});

test('the keys of the chart move between statuses and zoom; the URL restores the period', async () => {
  await open(`/monitors/${shop}?range=90d`);
  await chart().focus();
  await chart().press('Home');
  await chart().press('ArrowRight');
  const text = await chart().getAttribute('aria-valuetext');
  expect(text).toMatch(/^Down for 1 min 30 s, .*No response within 4 s$/);
  await chart().press('Enter');
  await page.getByRole('button', { name: 'Reset zoom' }).waitFor();
  const period = zoomed();
  expect(period).not.toBeNull();
  expect(period?.from).toBeLessThan(outageAt);
  expect(period?.to).toBeGreaterThan(outageAt + OUTAGE_MS);
  await page.reload();
  await settle(page);
  expect(zoomed()).toEqual(period);
  // The outage is now a part of the strip that can be read.
  const strip = await page.getByTestId('states').boundingBox();
  const bar = await page.getByTestId('states').locator('[data-status="DOWN"]').boundingBox();
  expect((bar?.width ?? 0) / (strip?.width ?? 1)).toBeGreaterThan(0.1);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Reset zoom' }).waitFor({ state: 'detached' });
  expect(zoomed()).toBeNull();
  expect(await page.getByRole('radio', { name: '90d' }).isChecked()).toBe(true);
});

test('dragging over the chart zooms to that period', async () => {
  await open(`/monitors/${shop}?range=90d`);
  await chart().scrollIntoViewIfNeeded();
  const box = await chart().boundingBox();
  if (box === null) throw new Error('The chart is not visible');
  const drag = async (from: number, to: number, y: number): Promise<void> => {
    await page.mouse.move(box.x + box.width * from, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * (from + to) * 0.5, y);
    await page.mouse.move(box.x + box.width * to, y);
    await page.mouse.up();
  };
  // Over the latency, backwards.
  await drag(0.75, 0.25, box.y + box.height * 0.7);
  await page.getByRole('button', { name: 'Reset zoom' }).waitFor();
  const { from, to } = zoomed() ?? { from: 0, to: 0 };
  expect((to - from) / DAY_MS).toBeGreaterThan(44);
  expect((to - from) / DAY_MS).toBeLessThan(46);
  await settle(page);
  // A click does not zoom.
  await drag(0.5, 0.5, box.y + 10);
  expect(zoomed()).toEqual({ from, to });
  await page.getByRole('button', { name: 'Reset zoom' }).click();
  await page.getByRole('button', { name: 'Reset zoom' }).waitFor({ state: 'detached' });
  expect(zoomed()).toBeNull();
});

test('a monitor says where it is not checked, that nobody is notified, and how old it is', async () => {
  await open(`/monitors/${elsewhere}`);
  await page.getByText('Not checked from ap-south: no checker is running there.').waitFor();
  await page.getByText('The status comes from the other regions only.').waitFor();
  await page.getByText('No channel is notified about this monitor.').waitFor();
  await panel('Regions')
    .getByRole('row', { name: 'ap-south' })
    .getByText('No checker', { exact: true })
    .waitFor();
  await panel('History')
    .getByText(/^Since the monitor was created: /)
    .waitFor();
  expect(await page.getByRole('radio', { name: '1h' }).isChecked()).toBe(true);
  expect(await page.getByRole('radio', { name: '90d' }).isDisabled()).toBe(true);
  expect(await findViolations(page)).toEqual([]);
});
