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
  watched = await openContext(dashboard.browser, { viewport: { width: 1_280, height: 900 } });
  await watched.context.addCookies(owner.cookies);
  page = await watched.context.newPage();
  for (const [name, labels] of [
    ['Shop', { app: 'shop', tier: 'web' }],
    ['Shop API', { app: 'shop', tier: 'api' }],
    ['Blog', { app: 'blog' }],
    ['Plain', {}],
  ] as const) {
    const body = { name, url: dashboard.target.url('/'), labels, headers: { Authorization: 'hidden' } };
    await owner.call('POST /api/dashboard/monitors', { body });
  }
});
afterAll(() => dashboard.close());
afterEach(() => expect(watched.problems).toEqual([]));

const filter = (): Locator => page.getByRole('textbox', { name: 'Filter by labels' });
const main = (): Locator => page.getByRole('main');

/** The names of the monitors in the list, sorted. */
async function shownNames(): Promise<string[]> {
  const names = await page.getByRole('table', { name: 'Monitors' }).locator('tbody th > a').allInnerTexts();
  return names.toSorted();
}

async function waitForNames(...names: string[]): Promise<void> {
  await until(
    `only ${names.join(', ')}`,
    async () => (await shownNames()).join() === names.toSorted().join(),
  );
}

async function open(path: string): Promise<void> {
  await page.goto(path);
  await settle(page);
}

test('the list is filtered by a selector in the address, and by a click on a label', async () => {
  await open('/');
  await waitForNames('Blog', 'Plain', 'Shop', 'Shop API');
  await filter().fill('app in (shop,blog),tier!=web');
  await waitForNames('Blog', 'Shop API');
  await page.waitForURL(/selector=app/);
  await page.reload();
  await waitForNames('Blog', 'Shop API');
  expect(await filter().inputValue()).toBe('app in (shop,blog),tier!=web');

  await filter().fill('app in shop');
  await page.getByText(/unexpected "shop"/).waitFor();
  await waitForNames('Blog', 'Plain', 'Shop', 'Shop API');
  await filter().fill('');

  await page.getByRole('link', { name: 'app=shop' }).first().click();
  await waitForNames('Shop', 'Shop API');
  await page.getByRole('link', { name: 'tier=api' }).click();
  await waitForNames('Shop API');
  expect(await filter().inputValue()).toBe('app=shop,tier=api');
  await page.getByRole('table').getByRole('link', { name: 'Shop API' }).click();
  await page.getByRole('heading', { level: 1, name: 'Shop API' }).waitFor();
  await page.getByRole('link', { name: 'app=shop' }).first().click();
  await waitForNames('Shop', 'Shop API');
});

test('labels of several monitors are edited at once', async () => {
  await open('/?selector=app');
  await page.getByRole('button', { name: 'Select', exact: true }).click();
  await page.getByRole('button', { name: 'Select all 3' }).click();
  await page.getByRole('checkbox', { name: 'Select Blog' }).uncheck();
  await page.getByText('2 monitors selected').waitFor();
  await page.getByRole('button', { name: 'Edit labels' }).click();
  const dialog = page.getByRole('dialog');
  for (const [name, text] of [
    ['Add', 'team=a'],
    ['Remove', 'tier'],
  ] as const) {
    const tags = dialog.getByLabel(name, { exact: true });
    await tags.fill(text);
    await tags.press('Enter');
    // Closes the suggestions, which cover the button.
    await tags.press('Tab');
  }
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('The labels of 2 monitors are up to date.').waitFor();
  const { monitors } = await owner.call('GET /api/dashboard/monitors');
  expect(Object.fromEntries(monitors.map(({ name, labels }) => [name, labels]))).toEqual({
    Shop: { app: 'shop', team: 'a' },
    'Shop API': { app: 'shop', team: 'a' },
    Blog: { app: 'blog' },
    Plain: {},
  });
  await filter().fill('team=a');
  await waitForNames('Shop', 'Shop API');
});

test('a channel selects monitors by their labels, and shows which', async () => {
  await open('/channels/new');
  await page.getByRole('textbox', { name: 'Name' }).fill('Shop team');
  await page.getByRole('textbox', { name: 'URL' }).fill(dashboard.receiver.url('/shop'));
  await page.getByRole('radio', { name: 'Selected monitors' }).check();
  const selector = page.getByRole('textbox', { name: 'Label selector' });
  await selector.fill('app=shop');
  await page.getByText(/^Matches 2 monitors: /).waitFor();
  await selector.fill('app=');
  await page.getByText('Matches no monitors yet.').waitFor();
  await selector.fill('app in (');
  await page.getByText(/ends too early/).waitFor();
  await selector.fill('app in (shop,blog)');
  await page.getByText(/^Matches 3 monitors: /).waitFor();
  await page.getByRole('checkbox', { name: 'Maintenance started' }).uncheck();
  await page.getByRole('button', { name: 'Create channel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('heading', { level: 1, name: 'Shop team' }).waitFor();
  await main().getByText('3 monitors').first().waitFor();
  const { channels } = await owner.call('GET /api/dashboard/channels');
  expect(channels).toMatchObject([
    {
      selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['shop', 'blog'] }] },
      monitorIds: [],
      allMonitors: false,
      events: ['monitor.down', 'monitor.up', 'incident.created', 'incident.resolved'],
    },
  ]);

  await page.getByRole('button', { name: 'Edit' }).click();
  expect(await selector.inputValue()).toBe('app in (shop,blog)');
  await page.getByRole('radio', { name: /^All monitors/ }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await main().getByText('All monitors').first().waitFor();
});

test('a read-only key reads monitors, without the values of their headers', async () => {
  await open('/api-keys');
  await page.getByRole('button', { name: 'New API key' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Grafana');
  await dialog.getByLabel('Sources', { exact: true }).waitFor();
  await dialog.getByRole('radio', { name: 'Read only' }).check();
  await dialog.getByLabel('Sources', { exact: true }).waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Create' }).click();
  const key = await dialog.getByLabel('the key', { exact: true }).innerText();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('row').filter({ hasText: 'Grafana' }).getByText('Read only').waitFor();
  const response = await fetch(`http://127.0.0.1:${dashboard.api.port}/api/cli/monitors`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  const { monitors } = (await response.json()) as { monitors: { headers: object }[] };
  expect(monitors.map(({ headers }) => headers)).toEqual(
    Array.from({ length: 4 }, () => ({ Authorization: '(secret)' })),
  );
});

test('the audit log shows what changed, and is filtered by action and target', async () => {
  await open('/audit-log');
  const entries = main().getByRole('listitem');
  await entries.filter({ hasText: 'Monitor updated' }).first().waitFor();
  await page.getByRole('combobox', { name: 'Action' }).click();
  await page.getByRole('option', { name: 'Monitor created' }).click();
  await until('only created monitors', async () => {
    const texts = await entries.allInnerTexts();
    return texts.length === 4 && texts.every((text) => text.includes('Monitor created'));
  });
  await page.waitForURL(/action=monitor.created/);

  await open('/');
  await page.getByRole('table').getByRole('link', { name: 'Shop API' }).click();
  await page.getByRole('link', { name: 'Change history' }).click();
  await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
  await until('the history of one monitor', async () => (await entries.count()) === 2);
  const update = await entries.first().innerText();
  expect(update).toMatch(/Monitor updated Shop API by Ada Byron/);
  expect(update).toMatch(/labels\.tier\s+api\s+removed/);
  expect(update).toMatch(/labels\.team\s+a/);
  await page.getByRole('button', { name: 'Show all targets' }).click();
  await entries.filter({ hasText: 'Monitor created' }).nth(3).waitFor();
});
