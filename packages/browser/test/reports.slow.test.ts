import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from '@jest/globals';
import { findViolations, settle, showScheme } from '@tocsin/browser/browser';
import type { Locator } from 'playwright-core';
import { createMonitors, heading, open, useDashboard } from './harness.ts';

const HOUR_MS = 3_600_000;

const used = useDashboard();
let ids: Map<string, string>;
/** Last month in UTC, which is the browser's time zone. */
const now = new Date();
const month = {
  from: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1),
  to: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 0),
};
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
const LAST_MONTH = `/reports?from=${dayOf(month.from)}&to=${dayOf(month.to)}&zone=UTC`;
const query = (statement: string, values: unknown[] = []) =>
  used.dashboard.system.database.pool.query(statement, values);

beforeAll(async () => {
  ids = await createMonitors(used, {
    Shop: { app: 'shop' },
    'Shop API': { app: 'shop' },
    '=Blog': { app: 'blog' },
    Plain: {},
  });
  // Checked all the time, so that their history is known.
  await query(
    `update monitors set created_at = now() - interval '1 year', last_checked_at = coalesce(last_checked_at, now())`,
  );
  // Hours after the last month began, and how many hours each lasted.
  for (const [name, hours, length] of [
    ['Shop', -5, 10],
    ['Shop API', 100, 30],
    ['Shop API', 200, 1.5],
    ['=Blog', 300, 0.25],
  ] as const) {
    const openedAt = month.from + hours * HOUR_MS;
    await query(
      `insert into incidents (id, account_id, monitor_id, opened_at, resolved_at, region)
       select gen_random_uuid(), account_id, id, $2, $3, 'default' from monitors where id = $1`,
      [ids.get(name), new Date(openedAt), new Date(openedAt + length * HOUR_MS)],
    );
  }
});

const table = (): Locator => used.page.getByRole('table', { name: 'Availability' });

/** The texts of the table, with its header and its total. */
const shownCells = (): Promise<string[][]> =>
  table()
    .getByRole('row')
    .evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll('th, td')].map((cell) => cell.textContent.trim())),
    );
const shownNames = async (): Promise<(string | undefined)[]> => (await shownCells()).map(([name]) => name);

test('a report of the last month by label is downloaded as a file, and a link shows the same', async () => {
  const { page } = used;
  await page.goto('/');
  await page.getByRole('link', { name: 'Reports' }).click();
  await page.waitForURL(/\/reports\?.*zone=UTC/);
  // All monitors are new, so a report of the last month would be empty.
  const fromOf = (): string | null => new URL(page.url()).searchParams.get('from');
  expect(fromOf()).toBe(dayOf(month.to + 24 * HOUR_MS));
  await page.getByLabel('From').fill(dayOf(month.from));
  await page.getByLabel('To', { exact: true }).fill(dayOf(month.to));
  // A whole day is applied without leaving its field.
  await page.waitForURL((url) => url.searchParams.get('to') === dayOf(month.to));
  expect(fromOf()).toBe(dayOf(month.from));
  await page.getByLabel('Group by').selectOption('app');
  await table()
    .getByRole('row', { name: /^shop 2/ })
    .waitFor();
  const shown = await shownCells();
  expect(shown.map(([name]) => name)).toEqual(['app', 'shop', 'blog', 'Without app', 'Total']);
  // Downtime since the first of the month is 5 h for one monitor and 31.5 h for the other.
  const availability = expect.stringMatching(/^9\d\.\d+%$/);
  expect(shown[1]?.slice(1, 6)).toEqual(['2', availability, '1 d 12 h', '3', '1 d 6 h']);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(
    `tocsin-availability-${dayOf(month.from)}-to-${dayOf(month.to)}.csv`,
  );
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
  expect(lines.map((line) => line.split(',')[3])).toEqual([
    'Downtime (s)',
    ...[36.5, 0.25, 0, 36.75].map((hours) => String(hours * 3_600)),
  ]);

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

test('rows link to their monitors and incidents, and errors in a filter or a day are shown', async () => {
  const { page } = used;
  await open(page, LAST_MONTH);
  await page.getByLabel('Group by').selectOption('app');
  await table().getByRole('link', { name: 'shop', exact: true }).click();
  await table().getByRole('link', { name: 'Shop API' }).waitFor();
  expect(await shownNames()).toEqual(['Monitor', 'Shop API', 'Shop', 'Total']);
  const name = table().getByRole('columnheader', { name: 'Monitor' });
  await name.getByRole('button').press('Enter');
  await page.waitForURL(/sort=name/);
  await page.waitForFunction(() => document.querySelector('tbody th')?.textContent === 'Shop');

  await page.getByLabel('Labels').fill('app in (');
  await page.getByText(/ends too early/).waitFor();
  // The last report stays, and cannot be downloaded as one with this filter.
  expect(await shownNames()).toEqual(['Monitor', 'Shop', 'Shop API', 'Total']);
  expect(await page.getByRole('button', { name: 'CSV' }).isDisabled()).toBe(true);
  await page.getByLabel('Labels').fill('');
  await page.getByLabel('From').fill(dayOf(Date.now() + 48 * HOUR_MS));
  await page.getByText('Choose a day in the past.').waitFor();
  await page.getByLabel('Period').selectOption('last-month');
  await page.getByText('Choose a day in the past.').waitFor({ state: 'detached' });
  await table()
    .getByRole('row', { name: /Shop API/ })
    .getByRole('link', { name: '2' })
    .click();
  await heading(page, 'Incidents').waitFor();
  expect(new URL(page.url()).searchParams.get('monitorId')).toBe(ids.get('Shop API'));
});

test('the report is accessible, and on paper there is nothing else', async () => {
  const { page } = used;
  await page.goto(LAST_MONTH);
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
  expect(await page.getByRole('button', { name: 'CSV' }).isVisible()).toBe(false);
  expect(await table().isVisible()).toBe(true);
  expect(await table().evaluate((element) => getComputedStyle(element).color)).toBe('rgb(0, 0, 0)');
  expect(await page.locator('main').evaluate((main) => main.scrollWidth <= main.clientWidth)).toBe(true);
});
