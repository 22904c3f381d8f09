import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import {
  findViolations,
  openContext,
  settle,
  showScheme,
  type WatchedContext,
} from '@tocsin/browser/browser';
import {
  acceptInvitation,
  createDashboardSystem,
  type DashboardSystem,
  type DashboardUser,
} from '@tocsin/browser/dashboard-system';
import type { Locator, Page } from 'playwright-core';

const HOUR_MS = 3_600_000;

let dashboard: DashboardSystem;
let owner: DashboardUser;
let watched: WatchedContext;
let page: Page;
const ids: string[] = [];
/** The last month in UTC, the zone of the browser. */
const now = new Date();
const month = {
  from: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1),
  to: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 0),
};
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

const run = (statement: string, values: unknown[]) => dashboard.system.database.pool.query(statement, values);

/** An incident that began so many hours after the last month did. */
async function addIncident(monitorId: string, hours: number, lengthHours: number): Promise<void> {
  const openedAt = month.from + hours * HOUR_MS;
  await run(
    `insert into incidents (id, account_id, monitor_id, opened_at, resolved_at, region)
     select $1, account_id, id, $3, $4, 'default' from monitors where id = $2`,
    [randomUUID(), monitorId, new Date(openedAt), new Date(openedAt + lengthHours * HOUR_MS)],
  );
}

beforeAll(async () => {
  dashboard = await createDashboardSystem();
  owner = await dashboard.createOwner();
  watched = await openContext(dashboard.browser, { viewport: { width: 1_440, height: 900 } });
  await watched.context.addCookies(owner.cookies);
  page = await watched.context.newPage();
  for (const [name, labels] of [
    ['Shop', { app: 'shop' }],
    ['Shop API', { app: 'shop' }],
    ['=Blog', { app: 'blog' }],
    ['Plain', {}],
  ] as const) {
    const body = { name, url: dashboard.target.url('/'), labels };
    ids.push((await owner.call('POST /api/dashboard/monitors', { body })).monitor.id);
  }
  await run(`update monitors set created_at = now() - interval '1 year'`, []);
  const [shop = '', shopApi = '', blog = ''] = ids;
  await addIncident(shop, -5, 10);
  await addIncident(shopApi, 100, 30);
  await addIncident(shopApi, 200, 1.5);
  await addIncident(blog, 300, 0.25);
});
afterAll(() => dashboard.close());
afterEach(() => expect(watched.problems).toEqual([]));

const table = (): Locator => page.getByRole('table', { name: 'Availability' });

/** The texts of the table, with its header and its total. */
const shownCells = (): Promise<string[][]> =>
  table()
    .getByRole('row')
    .evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll('th, td')].map((cell) => cell.textContent.trim())),
    );

/** The rows of a downloaded file. */
async function downloadRows(): Promise<{ name: string; rows: string[][] }> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ]);
  const text = await readFile(await download.path(), 'utf8');
  const rows = text.replace('\uFEFF', '').split('\r\n').slice(0, -1);
  return { name: download.suggestedFilename(), rows: rows.map((row) => row.split(',')) };
}

test('a report of the last month by label has the figures of its file, and a link shows the same', async () => {
  await page.goto('/');
  await page.getByRole('link', { name: 'Reports' }).click();
  await page.waitForURL(/\/reports\?.*zone=UTC/);
  const address = new URL(page.url()).searchParams;
  expect([address.get('from'), address.get('to')]).toEqual([dayOf(month.from), dayOf(month.to)]);
  await page.getByLabel('Group by').selectOption('app');
  await table()
    .getByRole('row', { name: /^shop 2/ })
    .waitFor();
  const shown = await shownCells();
  expect(shown.map(([name]) => name)).toEqual(['app', 'shop', 'blog', 'Without app', 'Total']);
  // From the first of the month: 5 h of one monitor, and 31.5 h of the other.
  expect(shown[1]?.slice(1, 6)).toEqual([
    '2',
    expect.stringMatching(/^9\d\.\d+%$/),
    '1 d 12 h',
    '3',
    '1 d 6 h',
  ]);
  const { name, rows } = await downloadRows();
  expect(name).toBe(`tocsin-availability-${dayOf(month.from)}-to-${dayOf(month.to)}.csv`);
  expect(rows).toHaveLength(shown.length);
  expect(rows[0]?.slice(0, 4)).toEqual(['app', 'Monitors', 'Availability (%)', 'Downtime (s)']);
  for (const [index, [label, monitors, availability, downtime, incidents]] of rows.entries()) {
    if (index === 0) continue;
    const cells = shown[index] ?? [];
    expect([label === '' ? 'Without app' : label, monitors, incidents]).toEqual([
      cells[0],
      cells[1],
      cells[4],
    ]);
    expect(Number(downtime)).toBe([36.5 * 3_600, 900, 0, 36.75 * 3_600][index - 1]);
    if (label === '') {
      // It was not checked in that month.
      expect([availability, cells[2]]).toEqual(['', '–']);
      continue;
    }
    // The table shows three decimals, rounded down.
    const percent = Number(cells[2]?.replace('%', ''));
    expect(Number(availability) - percent).toBeGreaterThanOrEqual(0);
    expect(Number(availability) - percent).toBeLessThan(0.01);
  }

  const link = page.url();
  await page.goto('/');
  let requests = 0;
  page.on('request', (request) => {
    if (request.url().includes('/reports/availability')) requests += 1;
  });
  await page.goto(link);
  await table().waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await settle(page);
  expect(await shownCells()).toEqual(shown);
  // Connecting the live stream reloads other data.
  expect(requests).toBe(1);
});

test('rows lead to their monitors and incidents, and sort by every column', async () => {
  await table().getByRole('link', { name: 'shop', exact: true }).click();
  await table().getByRole('link', { name: 'Shop API' }).waitFor();
  expect((await shownCells()).map(([name]) => name)).toEqual(['Monitor', 'Shop API', 'Shop', 'Total']);
  const heading = (name: string): Locator => table().getByRole('columnheader', { name });
  expect(await heading('Availability').getAttribute('aria-sort')).toBe('ascending');
  await heading('Monitor').getByRole('button').press('Enter');
  await page.waitForURL(/sort=name/);
  await page.waitForFunction(() => document.querySelector('tbody th')?.textContent === 'Shop');
  await heading('Monitor').getByRole('button').press('Enter');
  await page.waitForFunction(() => document.querySelector('tbody th')?.textContent === 'Shop API');
  expect(await heading('Monitor').getAttribute('aria-sort')).toBe('descending');

  await page.getByLabel('Labels').fill('app');
  await page.getByLabel('Labels').press('Enter');
  await table().getByRole('link', { name: '=Blog' }).waitFor();
  const { rows } = await downloadRows();
  expect(rows.map(([name]) => name)).toEqual(['Monitor', 'Shop API', 'Shop', "'=Blog", 'Total']);
  await page.getByLabel('Labels').fill('app in (');
  await page.getByLabel('Labels').press('Enter');
  await page.getByText(/ends too early/).waitFor();
  // The last report stays, and does not claim to have the filter.
  expect((await shownCells()).map(([name]) => name)).toEqual(rows.map(([name]) => name).with(3, '=Blog'));
  expect(await page.getByText('labels app in (').count()).toBe(0);
  for (const name of ['CSV', 'Print'])
    expect(await page.getByRole('button', { name }).isDisabled()).toBe(true);
  await page.reload();
  await page.getByText(/ends too early/).waitFor();
  expect(await page.getByRole('main').getByRole('table').count()).toBe(0);
  await page.getByLabel('Labels').fill('');
  await page.getByLabel('From').fill(dayOf(month.from + 24 * HOUR_MS));
  await page.getByLabel('From').press('Enter');
  await table().getByRole('link', { name: 'Plain' }).waitFor();
  await page.waitForFunction(() => document.querySelector('tfoot td:nth-child(4)')?.textContent === '3');
  expect(await page.getByLabel('Period').inputValue()).toBe('custom');

  await page.getByLabel('From').fill(dayOf(Date.now() + 48 * HOUR_MS));
  await page.getByLabel('From').press('Enter');
  await page.getByText('Choose a day in the past.').waitFor();
  await page.getByLabel('Period').selectOption('last-month');
  await page.getByText('Choose a day in the past.').waitFor({ state: 'detached' });
  await page.getByLabel('To', { exact: true }).fill(dayOf(month.from - 24 * HOUR_MS));
  await page.getByLabel('To', { exact: true }).press('Enter');
  await page.getByText('Choose the first day or a later one.').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  await page.getByLabel('Period').selectOption('last-month');
  await page.getByText('Choose the first day or a later one.').waitFor({ state: 'detached' });
  await page.getByLabel('Period').selectOption('Custom');
  expect(await page.getByLabel('Period').inputValue()).toBe('custom');
  expect(await page.getByLabel('From').evaluate((field) => field === document.activeElement)).toBe(true);

  await table()
    .getByRole('row', { name: /Shop API/ })
    .getByRole('link', { name: '2' })
    .click();
  await page.getByRole('heading', { level: 1, name: 'Incidents' }).waitFor();
  expect(new URL(page.url()).searchParams.get('monitorId')).toBe(ids[1]);
});

test('the report is accessible, and on paper there is nothing else', async () => {
  await page.goto('/reports');
  await table().waitFor();
  for (const width of [360, 1_440]) {
    await page.setViewportSize({ width, height: 900 });
    for (const scheme of ['dark', 'light'] as const) {
      await showScheme(page, scheme);
      expect(await findViolations(page)).toEqual([]);
    }
  }
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await page.getByRole('navigation').first().waitFor({ state: 'hidden' });
  expect(await page.getByRole('banner').isVisible()).toBe(false);
  expect(await page.getByLabel('Period').isVisible()).toBe(false);
  expect(await page.getByRole('button', { name: 'CSV' }).isVisible()).toBe(false);
  expect(await table().isVisible()).toBe(true);
  const colors = await table().evaluate((element) => {
    const { color, fontSize } = getComputedStyle(element);
    return { color, fontSize, header: getComputedStyle(element.querySelector('thead') ?? element).display };
  });
  expect(colors).toMatchObject({ color: 'rgb(0, 0, 0)', header: 'table-header-group' });
  expect(await page.locator('main').evaluate((main) => main.scrollWidth <= main.clientWidth)).toBe(true);
  await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
});

test('a member sees no controls of people that would fail', async () => {
  const { token } = await owner.call('POST /api/dashboard/invitations', { body: { role: 'member' } });
  const person = { name: 'Bob', email: 'bob@example.com', password: 'correct horse battery' };
  const member = await acceptInvitation(dashboard.api.port, token, person);
  const other = await openContext(dashboard.browser);
  await other.context.addCookies(member.cookies);
  const memberPage = await other.context.newPage();
  await memberPage.goto('/people');
  await settle(memberPage);
  await memberPage.getByText('Only for owners').waitFor();
  expect(await memberPage.getByRole('button', { name: 'Invite' }).count()).toBe(0);
  expect(await memberPage.getByRole('alert').count()).toBe(0);
  expect(other.problems).toEqual([]);
});

test('the navigation counts every open incident', async () => {
  const { rows } = await run(
    `select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
     where table_name = 'monitors' and table_schema = 'public' and column_name not in ('id', 'external_id')`,
    [],
  );
  const { columns } = rows[0] as { columns: string };
  await run(
    `insert into monitors (id, ${columns}) select gen_random_uuid(), ${columns} from monitors, generate_series(1, 510)
     where id = $1`,
    [ids[0]],
  );
  await run(
    `insert into incidents (id, account_id, monitor_id, opened_at, region)
     select gen_random_uuid(), account_id, id, now(), 'default' from monitors where id <> $1`,
    [ids[0]],
  );
  await page.goto('/incidents');
  await page.getByRole('link', { name: 'Incidents' }).getByText('513', { exact: true }).waitFor();
});
