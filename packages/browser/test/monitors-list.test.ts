import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { openContext, settle, type WatchedContext } from '@tocsin/browser/browser';
import {
  createDashboardSystem,
  type DashboardSystem,
  type DashboardUser,
} from '@tocsin/browser/dashboard-system';
import { until } from '@tocsin/embedded/testing/until';
import type { Locator, Page } from 'playwright-core';

let dashboard: DashboardSystem;
let owner: DashboardUser;
let watched: WatchedContext;
let page: Page;

beforeAll(async () => {
  dashboard = await createDashboardSystem();
  owner = await dashboard.createOwner();
  watched = await openContext(dashboard.browser, {
    viewport: { width: 1_280, height: 900 },
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await watched.context.addCookies(owner.cookies);
  page = await watched.context.newPage();
  for (const [name, labels] of [
    ['Shop', { team: 'shop', tier: 'web' }],
    ['Shop API', { team: 'shop', tier: 'api' }],
    ['Blog', { team: 'blog' }],
    ['=Plain', {}],
  ] as const) {
    const body = { name, url: dashboard.target.url('/'), labels };
    await owner.call('POST /api/dashboard/monitors', { body });
  }
});
afterAll(() => dashboard.close());
afterEach(() => expect(watched.problems).toEqual([]));

const table = (): Locator => page.getByRole('table', { name: 'Monitors' });
const button = (name: string | RegExp): Locator => page.getByRole('button', { name });

async function open(path: string): Promise<void> {
  await page.goto(path);
  await settle(page);
}

/** Waits until the rows have these names, in this order. */
async function waitForNames(...names: string[]): Promise<void> {
  await until(`the monitors ${names.join(', ')}`, async () => {
    const shown = await table().locator('tbody th > a').allInnerTexts();
    return shown.join() === names.join();
  });
}

const group = (name: string | RegExp): Locator => table().getByRole('button', { name });

test('a click on a label filters, and the list is grouped, collapsed, sorted and shared by its address', async () => {
  await open('/?order=name');
  await waitForNames('=Plain', 'Blog', 'Shop', 'Shop API');
  await table().getByRole('link', { name: 'team=shop' }).first().click();
  await waitForNames('Shop', 'Shop API');
  await page.getByRole('button', { name: 'Clear labels' }).click();

  await button('Display').click();
  const panel = page.getByRole('dialog', { name: 'Display' });
  await panel.getByRole('combobox', { name: 'Group by label' }).selectOption('team');
  // No checker runs: all are pending, and the largest group comes first.
  await waitForNames('Shop', 'Shop API', 'Blog', '=Plain');
  await panel.getByRole('checkbox', { name: 'Certificate expiry' }).check();
  await table().getByRole('columnheader', { name: 'Certificate' }).waitFor();
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  await group(/^team=shop/).press('Enter');
  await waitForNames('Blog', '=Plain');
  expect(await group(/^team=shop/).getAttribute('aria-expanded')).toBe('false');

  await table().getByRole('button', { name: 'Monitor' }).click();
  await page.waitForURL(/reverse=true/);
  await group(/^team=shop/).press('Enter');
  await waitForNames('Shop API', 'Shop', 'Blog', '=Plain');
  await page.reload();
  await waitForNames('Shop API', 'Shop', 'Blog', '=Plain');
  await table().getByRole('columnheader', { name: 'Certificate' }).waitFor();
});

test('a view keeps the whole list, and its link opens it', async () => {
  await open('/?q=shop&order=name&group=tier');
  await button('Views').click();
  const panel = page.getByRole('dialog', { name: 'Views' });
  const field = panel.getByRole('textbox', { name: 'Name of the view' });
  await field.fill('Slowest');
  await field.press('Enter');
  await panel.getByText('This is the name of a built-in view.').waitFor();
  await field.fill('Shop by tier');
  await field.press('Enter');
  await panel.getByRole('link', { name: 'Shop by tier' }).waitFor();
  await field.fill('shop by tier');
  await panel.getByText('Replaces the view “Shop by tier”.').waitFor();
  await panel.getByRole('button', { name: 'Replace' }).waitFor();
  await field.fill('');
  await panel.getByRole('button', { name: 'Copy the link to Shop by tier' }).click();
  const link = await page.evaluate(() => navigator.clipboard.readText());

  await panel.getByRole('link', { name: 'All', exact: true }).click();
  await panel.waitFor({ state: 'detached' });
  await until('all monitors', async () => (await table().locator('tbody th > a').count()) === 4);
  await button('Views').click();
  await panel.getByRole('link', { name: 'Shop by tier' }).click();
  await waitForNames('Shop API', 'Shop');
  await page.goto(link);
  await waitForNames('Shop API', 'Shop');
  await group(/^tier=web/).waitFor();

  await button('Views').click();
  await panel.getByRole('link', { name: 'Slowest', exact: true }).click();
  await table().getByRole('columnheader', { name: 'p95' }).waitFor();
  expect(await table().getByRole('columnheader', { name: 'p95' }).getAttribute('aria-sort')).toBe(
    'descending',
  );
});

test('the list that the filters show is exported as CSV', async () => {
  await open('/?order=name');
  await waitForNames('=Plain', 'Blog', 'Shop', 'Shop API');
  await button('Display').click();
  const [download] = await Promise.all([page.waitForEvent('download'), button('Export CSV').click()]);
  expect(download.suggestedFilename()).toMatch(/^monitors-\d{4}-\d\d-\d\d\.csv$/);
  const text = await readFile(await download.path(), 'utf8');
  // Without a byte order mark, Excel does not read UTF-8.
  expect(text.startsWith('\uFEFFid,')).toBe(true);
  const lines = text.trimEnd().split('\r\n');
  expect(lines.map((line) => line.split(',')[1])).toEqual(['name', "'=Plain", 'Blog', 'Shop', 'Shop API']);
});

test('many monitors are labeled, assigned, checked, planned for maintenance and deleted', async () => {
  const receiver = dashboard.receiver.url('/team');
  const body = { name: 'Team', url: receiver, monitorIds: [] };
  await owner.call('POST /api/dashboard/channels', { body });
  await open('/?selector=team');
  await until('three monitors', async () => (await table().locator('tbody th > a').count()) === 3);
  await button('Select').click();
  await button('Select all 3').click();
  const dialog = page.getByRole('dialog');

  await button('Assign channels').click();
  const channelsField = dialog.getByLabel('Channels', { exact: true });
  await until('the field has the focus', () =>
    channelsField.evaluate((element) => element === document.activeElement),
  );
  await channelsField.press('ArrowDown');
  await page.getByRole('option', { name: 'Team' }).click();
  await page.getByRole('listbox').waitFor({ state: 'hidden' });
  await dialog.getByRole('button', { name: 'Assign' }).click();
  await page.getByText('3 monitors now alert Team.').waitFor();
  const { channels } = await owner.call('GET /api/dashboard/channels');
  expect(channels[0]?.monitorIds).toHaveLength(3);

  await button('Select').click();
  await button('Select all 3').click();
  await button('Check now').click();
  await page.getByText(/^Checking 3 monitors\. Results appear within \d+ s\.$/).waitFor();

  await button('Plan maintenance').click();
  await page.getByRole('heading', { level: 1, name: 'New maintenance window' }).waitFor();
  await page.goBack();

  await until('three monitors', async () => (await table().locator('tbody th > a').count()) === 3);
  await button('Select').click();
  await button('Select all 3').click();
  await page.getByRole('checkbox', { name: 'Select Blog' }).uncheck();
  await button('Delete').click();
  const confirm = dialog.getByRole('button', { name: 'Delete 2 monitors' });
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByRole('textbox').fill('2');
  await confirm.click();
  await page.getByText('2 monitors were deleted.').waitFor();
  await waitForNames('Blog');
  const { monitors } = await owner.call('GET /api/dashboard/monitors');
  expect(monitors.map(({ name }) => name).toSorted()).toEqual(['=Plain', 'Blog']);
});
