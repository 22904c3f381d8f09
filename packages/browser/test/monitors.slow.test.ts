import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { findViolations, openContext, settle, showScheme } from '@tocsin/browser/browser';
import { Seam } from '@tocsin/browser/seams';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { checkOf, failureOf } from '@tocsin/db/testing/check-record';
import { until } from '@tocsin/embedded/testing/until';
import type { Locator } from 'playwright-core';
import { createMonitors, deleteAll, open, row, useDashboard, waitForNames } from './harness.ts';

const used = useDashboard({ permissions: ['clipboard-read', 'clipboard-write'] });
const query = (statement: string, values: unknown[] = []) =>
  used.dashboard.system.database.pool.query(statement, values);

describe('the list', () => {
  // No checker runs, so all monitors are pending.
  beforeAll(() =>
    createMonitors(used, {
      Shop: { team: 'shop', tier: 'web' },
      'Shop API': { team: 'shop', tier: 'api' },
      Blog: { team: 'blog' },
      '=Plain': {},
    }),
  );

  const table = (): Locator => used.page.getByRole('table', { name: 'Monitors' });
  const group = (name: RegExp): Locator => table().locator('button[aria-expanded]', { hasText: name });

  test('the list can be grouped, collapsed and sorted, and shared as a link', async () => {
    const { page } = used;
    await open(page, '/?order=name');
    await waitForNames(page, '=Plain', 'Blog', 'Shop', 'Shop API');
    const filter = page.getByRole('combobox', { name: 'Filter by labels' });
    await filter.fill('team in shop');
    await page.getByText(/unexpected "shop"/).waitFor();
    await waitForNames(page, '=Plain', 'Blog', 'Shop', 'Shop API');
    await page.getByRole('button', { name: 'Clear labels' }).click();

    await page.getByRole('button', { name: 'Display' }).click();
    const panel = page.getByRole('dialog', { name: 'Display' });
    await panel.getByRole('combobox', { name: 'Group by label' }).selectOption('team');
    // All are pending, and the largest group comes first.
    await waitForNames(page, 'Shop', 'Shop API', 'Blog', '=Plain');
    await panel.getByRole('checkbox', { name: 'Certificate expiry' }).check();
    await table().getByRole('columnheader', { name: 'Certificate' }).waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await group(/^team=shop/).press('Enter');
    await waitForNames(page, 'Blog', '=Plain');
    expect(await group(/^team=shop/).getAttribute('aria-expanded')).toBe('false');

    await table().getByRole('button', { name: 'Monitor' }).click();
    await page.waitForURL(/reverse=true/);
    await group(/^team=shop/).press('Enter');
    await waitForNames(page, 'Shop API', 'Shop', 'Blog', '=Plain');
    await page.reload();
    await waitForNames(page, 'Shop API', 'Shop', 'Blog', '=Plain');
    await table().getByRole('columnheader', { name: 'Certificate' }).waitFor();
  });

  test('a view keeps the whole list, and its link opens it', async () => {
    const { page } = used;
    await open(page, '/?q=shop&order=name&group=tier');
    await page.getByRole('button', { name: 'Views' }).click();
    const panel = page.getByRole('dialog', { name: 'Views' });
    const field = panel.getByRole('textbox', { name: 'Name of the view' });
    await field.fill('Shop by tier');
    await field.press('Enter');
    await panel.getByRole('link', { name: 'Shop by tier' }).waitFor();
    await panel.getByRole('button', { name: 'Copy the link to Shop by tier' }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());

    await panel.getByRole('link', { name: 'All', exact: true }).click();
    await panel.waitFor({ state: 'detached' });
    await until('all monitors', async () => (await table().locator('tbody th > a').count()) === 4);
    await page.getByRole('button', { name: 'Views' }).click();
    await panel.getByRole('link', { name: 'Shop by tier' }).click();
    await waitForNames(page, 'Shop API', 'Shop');
    await page.goto(link);
    await waitForNames(page, 'Shop API', 'Shop');
    await group(/^tier=web/).waitFor();

    await page.getByRole('button', { name: 'Views' }).click();
    await panel.getByRole('link', { name: 'Slowest', exact: true }).click();
    await table().getByRole('columnheader', { name: 'p95' }).waitFor();
    expect(await table().getByRole('columnheader', { name: 'p95' }).getAttribute('aria-sort')).toBe(
      'descending',
    );
  });

  test('compact rows stay, a row has two tab stops, and a phone shows monitors before filters', async () => {
    const { page, watched } = used;
    await createMonitors(
      used,
      Object.fromEntries(
        Array.from({ length: 14 }, (_, index) => [`More ${index}`, { team: 'more', a: 'b', c: 'd' }]),
      ),
    );
    await page.setViewportSize({ width: 1_280, height: 900 });
    await open(page, '/?order=name');
    await page.getByRole('button', { name: 'Display' }).click();
    await page.getByRole('checkbox', { name: 'Compact rows' }).check();
    await page.reload();
    await settle(page);
    const bottoms = await table()
      .locator('tbody tr[aria-rowindex]')
      .evaluateAll((rows) => rows.map((one) => one.getBoundingClientRect().bottom));
    expect(bottoms.filter((bottom) => bottom <= 900).length).toBeGreaterThanOrEqual(12);

    await page.getByRole('button', { name: 'Display' }).click();
    await page.getByRole('checkbox', { name: 'Compact rows' }).uncheck();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    const stops = row(page, 'More 0').locator('a, button, input');
    expect(
      await stops.evaluateAll((all) => all.filter((one) => (one as HTMLElement).tabIndex >= 0).length),
    ).toBe(2);
    expect(await row(page, 'More 0').getByRole('link').count()).toBe(1);

    const phone = await watched.context.newPage();
    await phone.setViewportSize({ width: 390, height: 844 });
    await open(phone, '/?order=name');
    const first = await phone.getByRole('row').filter({ hasText: '=Plain' }).boundingBox();
    expect(first?.y).toBeLessThan(844 / 3);
    expect(await phone.getByRole('combobox', { name: 'Order' }).isVisible()).toBe(false);
    await phone.getByRole('button', { name: 'Filters' }).click();
    await phone.getByRole('combobox', { name: 'Order' }).waitFor();
  });

  test('the keyboard moves in the list, selects a range, completes labels and runs actions of the page', async () => {
    const { page } = used;
    const focused = (): Promise<string | undefined> =>
      page.evaluate(() => document.activeElement?.textContent ?? undefined);
    await open(page, '/?order=name&q=shop');
    for (const [key, name] of [
      ['j', 'Shop'],
      ['j', 'Shop API'],
      ['ArrowUp', 'Shop'],
      ['ArrowDown', 'Shop API'],
      ['k', 'Shop'],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focused()).toBe(name);
    }
    await page.keyboard.press('?');
    await page.getByRole('table', { name: 'Keyboard shortcuts' }).getByText('Next row of a list').waitFor();
    await page.keyboard.press('Escape');

    await open(page, '/?order=name');
    const selector = page.getByRole('combobox', { name: 'Filter by labels' });
    await selector.fill('team=shop,ti');
    const completions = page.locator('datalist option');
    await until('the completions', async () => (await completions.count()) === 3);
    const values = completions.evaluateAll((options) => options.map((option) => option.textContent));
    expect(await values).toEqual(['team=shop,tier', 'team=shop,tier=api', 'team=shop,tier=web']);
    await selector.fill('');
    await page.getByRole('searchbox', { name: 'Search monitors' }).fill('team=blog');
    await waitForNames(page, 'Blog');

    await open(page, '/?order=name&q=more');
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    await page.getByRole('checkbox', { name: 'Select More 1', exact: true }).click();
    await page.getByRole('checkbox', { name: 'Select More 4' }).click({ modifiers: ['Shift'] });
    await page.getByText('4 monitors selected').waitFor();

    await page.keyboard.press('Control+k');
    const search = page.getByRole('combobox', { name: 'Search monitors, pages and actions' });
    await settle(page);
    const top = (await search.boundingBox())?.y;
    await search.fill('new mon');
    await page
      .getByRole('group', { name: 'This page' })
      .getByRole('option', { name: 'New monitor' })
      .waitFor();
    expect((await search.boundingBox())?.y).toBe(top);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/monitors\/new/);
  });
});

describe('changes before a response arrives are shown', () => {
  let monitorId: string;
  beforeAll(async () => {
    await deleteAll(used);
    monitorId = (await createMonitors(used, { Shop: {} })).get('Shop') ?? '';
  });
  beforeEach(() => record('UP'));

  /** Records a check, as a checker does. */
  async function record(status: 'UP' | 'DOWN'): Promise<void> {
    await recordChecks(used.dashboard.system.database.db, [
      status === 'UP' ? checkOf(monitorId) : failureOf(monitorId),
    ]);
  }

  /**
   * Opens a page while the monitor goes down. The first responses were read before and arrive only after the live stream could start.
   */
  async function openAcrossChange(path: string, held: readonly string[]): Promise<void> {
    const { page, dashboard } = used;
    const stream = await Seam.open(page, dashboard.api.port, '/api/dashboard/stream*');
    const responses = await Promise.all(held.map((one) => Seam.open(page, dashboard.api.port, one)));
    for (const one of responses) one.holdResponses();
    stream.holdRequests();
    await page.goto(path);
    for (const one of responses) await until('a response is held', () => one.held > 0);
    await record('DOWN');
    const isRequested = stream.held > 0;
    await stream.release();
    if (isRequested) await page.getByText('Live', { exact: true }).waitFor();
    for (const one of responses) await one.release();
  }

  test.each([
    ['in the list', '/', ['overview']],
    ['among the incidents', '/incidents', ['overview', 'incidents*state=open*']],
    ['on the page of the monitor', '/monitors/ID', ['overview', 'monitors/ID']],
  ] as const)('%s', async (_, path, held) => {
    const withId = (text: string): string => text.replace('ID', monitorId);
    await openAcrossChange(
      withId(path),
      held.map((one) => withId(`/api/dashboard/${one}`)),
    );
    const shown = path === '/incidents' ? 'Shop' : 'Down';
    await used.page.getByRole('main').getByText(shown, { exact: true }).first().waitFor();
  });

  test('in a list that differs from the server, which is corrected and says so', async () => {
    const { page } = used;
    await page.goto('/');
    await row(page, 'Shop').getByText('Up', { exact: true }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    // Without a record, so the stream does not tell.
    await query(
      `update monitors set status = 'DOWN', status_since = date_trunc('milliseconds', clock_timestamp())`,
    );
    await page.getByRole('alert').filter({ hasText: 'Statuses corrected' }).waitFor();
    await row(page, 'Shop').getByText('Down', { exact: true }).waitFor();
  });
});

describe('the page of a monitor', () => {
  const DAY_MS = 86_400_000;
  const OUTAGE_MS = 90_000;
  const outageAt = Date.now() - 40 * DAY_MS;
  /** Down since its first check. It was also down for 90 s some weeks ago. */
  let shop: string;
  /** Up in one region. The other region has no checker, and no channel receives its alerts. */
  let elsewhere: string;

  beforeAll(async () => {
    await deleteAll(used);
    const { dashboard, owner } = used;
    const create = async (name: string, url: string, regions: string[]): Promise<string> => {
      const body = { name, url, regions, interval: 5, timeout: 60 };
      return (await owner.call('POST /api/dashboard/monitors', { body })).monitor.id;
    };
    shop = await create('Shop', dashboard.broken.url('/'), []);
    elsewhere = await create('Elsewhere', dashboard.target.url('/'), ['default', 'ap-south']);
    const channel = { name: 'On call', url: dashboard.receiver.url('/hook'), monitorIds: [shop] };
    await owner.call('POST /api/dashboard/channels', { body: channel });
    await insertOutage();
    await Promise.all([
      dashboard.system.service('checker', { REGION: 'default' }).start(),
      dashboard.system.service('notifier').start(),
    ]);
    await dashboard.system.untilStatus(shop, 'DOWN');
    await dashboard.system.untilStatus(elsewhere, 'UP');
  });

  /** Makes the monitor 100 days old, with one outage of 90 s. */
  async function insertOutage(): Promise<void> {
    const [down, up] = [outageAt, outageAt + OUTAGE_MS].map((time) => new Date(time).toISOString());
    await query(
      `update monitors set created_at = created_at - interval '100 days',
         last_checked_at = coalesce(last_checked_at, now()) where id = $1`,
      [shop],
    );
    await query(
      `insert into incidents (id, account_id, monitor_id, opened_at, resolved_at, cause, error_detail, region)
     select $2, account_id, id, $3, $4, 'TIMEOUT', 'no response within 4 s', 'default' from monitors where id = $1`,
      [shop, randomUUID(), down, up],
    );
    await query(
      `insert into status_changes (id, account_id, monitor_id, from_status, to_status, region, timestamp,
       webhook_events, channel_ids, dispatched_at)
     select gen_random_uuid(), account_id, m.id, c.before, c.after, 'default', c.at, '[]', '{}', c.at
     from monitors m cross join (values ('PENDING', 'DOWN', $2::timestamptz), ('DOWN', 'UP', $3::timestamptz))
       as c (before, after, at)
     where m.id = $1`,
      [shop, down, up],
    );
  }

  const panel = (name: string): Locator => used.page.getByRole('region', { name, exact: true });
  const chart = (): Locator => used.page.getByRole('slider', { name: 'Status over time' });

  /** The period in the URL in epoch milliseconds, or null without one. */
  function zoomed(): { from: number; to: number } | null {
    const { searchParams } = new URL(used.page.url());
    const [from, to] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? ''));
    return from === undefined || to === undefined || Number.isNaN(from + to) ? null : { from, to };
  }

  test('a monitor that is down says what, since when, where, what it responded, who was told and what changed', async () => {
    const { page } = used;
    await open(page, `/monitors/${shop}`);
    const situation = panel('What is wrong');
    await situation.getByRole('alert').getByText('Expected a status from 200 to 399, got 503').waitFor();
    await situation.getByText(/^default: Failing, /).waitFor();
    await situation.getByText(/^Status code 503, checked from default, /).waitFor();
    await situation.getByRole('link', { name: 'On call' }).waitFor();
    await situation.getByText('Delivered', { exact: true }).waitFor();
    await situation.getByText(/^Monitor created, by Ada Byron/).waitFor();
    await situation.getByRole('button', { name: 'Response', exact: true }).click();
    await situation.getByText('Status code 503', { exact: true }).waitFor();
    await situation.getByText('No runbook.').waitFor();
    for (const scheme of ['light', 'dark'] as const) {
      await showScheme(page, scheme);
      expect(await findViolations(page)).toEqual([]);
    }
  });

  test('the figures of an outage agree, and follow every check', async () => {
    // Only this advances the clock of the page. It advances by less than the minute after which figures are reloaded without a check.
    const { context } = await openContext(used.dashboard.browser);
    await context.addCookies(used.owner.cookies);
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
    const options = { id: shop, query: { limit: '500' } };
    return (await used.owner.call('GET /api/dashboard/monitors/:id/events', options)).events;
  }

  test('keys move between statuses in the chart and zoom, and the URL restores the period', async () => {
    const { page } = used;
    await open(page, `/monitors/${shop}?range=90d`);
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
    const { page } = used;
    await open(page, `/monitors/${shop}?range=90d`);
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
    const { page } = used;
    await open(page, `/monitors/${elsewhere}`);
    await page.getByText('Not checked from ap-south: no checker or agent is running there.').waitFor();
    await page.getByText('The status comes from the other regions only.').waitFor();
    await page.getByText('No channel is notified about this monitor.').waitFor();
    await panel('Regions')
      .getByRole('row', { name: 'ap-south' })
      .getByText('Not checked', { exact: true })
      .waitFor();
    await panel('History')
      .getByText(/^Since the monitor was created: /)
      .waitFor();
    expect(await page.getByRole('radio', { name: '1h' }).isChecked()).toBe(true);
    expect(await page.getByRole('radio', { name: '90d' }).isDisabled()).toBe(true);
    expect(await findViolations(page)).toEqual([]);
  });
});
