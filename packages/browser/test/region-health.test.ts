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
const ids = new Map<string, string>();

beforeAll(async () => {
  dashboard = await createDashboardSystem();
  dashboard.broken.body = '<b id="injected">Out of order</b>';
  owner = await dashboard.createOwner();
  watched = await openContext(dashboard.browser, { viewport: { width: 1_280, height: 900 } });
  await watched.context.addCookies(owner.cookies);
  page = await watched.context.newPage();
  for (const [name, target, regions] of [
    ['Resolver', dashboard.target, []],
    ['Mirror', dashboard.target, []],
    ['Elsewhere', dashboard.target, ['us-east']],
    ['Shop', dashboard.broken, []],
  ] as const) {
    // No check of a busy machine exceeds this timeout.
    const body = { name, url: target.url('/'), regions: [...regions], interval: 60, timeout: 60 };
    const { monitor } = await owner.call('POST /api/dashboard/monitors', { body });
    ids.set(name, monitor.id);
  }
});
afterAll(() => dashboard.close());
afterEach(() => expect(watched.problems).toEqual([]));

const row = (name: string): Locator => page.getByRole('row').filter({ hasText: name });

async function open(path: string): Promise<void> {
  await page.goto(path);
  await settle(page);
}

/** A page in a browser profile of its own. Chromium logs each response with an error status as a problem of the profile. */
async function openOther(path: string): Promise<Page> {
  const { context } = await openContext(dashboard.browser);
  await context.addCookies(owner.cookies);
  const other = await context.newPage();
  await other.goto(path);
  await settle(other);
  return other;
}

test('canaries of a region are chosen among its monitors, by keyboard', async () => {
  await open('/regions');
  await page.getByText('No region has canaries yet').waitFor();
  await page.getByRole('button', { name: 'Choose canaries for default' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Canaries of default' });
  await dialog.getByRole('option', { name: 'Mirror' }).waitFor();
  expect(await dialog.getByRole('option').count()).toBe(3);
  const search = dialog.getByRole('textbox', { name: 'Canaries' });
  for (const name of ['Resolver', 'Mirror']) {
    await search.fill(name);
    await dialog.getByText('1 found').waitFor();
    await search.press('Enter');
  }
  await dialog.getByText('2 of at most 10 selected').waitFor();
  await dialog.getByRole('button', { name: 'Save' }).press('Enter');
  await dialog.waitFor({ state: 'detached' });
  const canaries = page.getByRole('list', { name: 'Canaries of default' });
  await canaries.getByRole('link', { name: 'Resolver' }).waitFor();
  expect((await canaries.getByRole('link').allInnerTexts()).toSorted()).toEqual(['Mirror', 'Resolver']);
  await row('default').getByText('Connected', { exact: true }).waitFor();
});

test('the field of the canaries says why the api refuses them', async () => {
  const other = await openOther('/regions');
  await other.getByRole('button', { name: 'Edit the canaries of default' }).click();
  const dialog = other.getByRole('dialog');
  await dialog.getByRole('option', { name: 'Shop' }).click();
  const id = ids.get('Shop') ?? '';
  await owner.call('PUT /api/dashboard/monitors/:id', { id, body: { regions: ['us-east'] } });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText(/^Shop is not checked from the region "default"/).waitFor();
  await owner.call('PUT /api/dashboard/monitors/:id', { id, body: { regions: [] } });
  await other.context().close();
});

test('every page names an isolated region until its network is back', async () => {
  const { pool } = dashboard.system.database;
  // It never expires, like that of a checker that keeps renewing it.
  await pool.query(
    `insert into region_isolations (account_id, region, checker_id, renewed_at)
     select account_id, 'default', gen_random_uuid(), 'infinity' from monitors limit 1`,
  );
  await open('/incidents');
  const banner = page.getByText(/^Region default has had no network since/);
  await banner.waitFor();
  await page.getByRole('status').getByRole('link', { name: 'Regions' }).click();
  await page.getByRole('heading', { level: 1, name: 'Regions' }).waitFor();
  await row('default').getByText('Isolated', { exact: true }).waitFor();
  const first = await page.getByRole('table', { name: 'Regions' }).locator('tbody tr').first().innerText();
  expect(first).toMatch(/^default/);
  await pool.query('update region_isolations set ended_at = clock_timestamp()');
  await row('default').getByText('Connected', { exact: true }).waitFor();
  await banner.waitFor({ state: 'detached' });
});

test('an outage states its cause in words everywhere, and shows the kept response as text', async () => {
  await dashboard.system.service('checker', { REGION: 'default' }).start();
  await open('/');
  const cause = /Expected a status from 200 to 399, got 503/;
  await row('Shop').getByText(cause).waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Incidents' }).click();
  await page.getByRole('main').getByRole('listitem').filter({ hasText: 'Shop' }).getByText(cause).waitFor();
  await page.getByRole('link', { name: 'Shop' }).click();
  await page.getByRole('main').getByRole('link', { name: 'Monitor', exact: true }).click();
  await page.getByRole('alert').getByText(cause).waitFor();

  await row('503').getByRole('button', { name: 'Details' }).last().click();
  const events = page.getByRole('region', { name: 'Latest events' });
  await events.getByRole('button', { name: 'Response', exact: true }).click();
  const body = page.getByRole('group', { name: 'Response body' });
  expect(await body.innerText()).toBe(dashboard.broken.body);
  expect(await page.locator('#injected').count()).toBe(0);
  await page.getByRole('group', { name: 'Response headers' }).getByText('text/plain').waitFor();
});

test.each([
  [403, 'You are not allowed to see this response.'],
  [404, 'The response is no longer kept.'],
])('a kept response that fails with %i says why', async (status, text) => {
  const other = await openOther(`/monitors/${ids.get('Shop') ?? ''}`);
  await other.route('**/response', (route) => route.fulfill({ status, body: '' }));
  await other.getByRole('button', { name: 'Details' }).last().click();
  await other
    .getByRole('region', { name: 'Latest events' })
    .getByRole('button', { name: 'Response', exact: true })
    .click();
  await other.getByText(text).waitFor();
  await other.context().close();
});

test('an inconclusive check is neither up nor down', async () => {
  const id = ids.get('Mirror') ?? '';
  await open('/');
  await row('Mirror').getByText('Up', { exact: true }).waitFor();
  await dashboard.system.database.pool.query(
    `insert into events (monitor_id, timestamp, id, status, latency_ms, error_reason, error_detail, inconclusive, region,
       source)
     select $1, date_trunc('milliseconds', clock_timestamp()), gen_random_uuid(), 'DOWN', 0, 'DNS_ERROR',
       'the name server did not respond', true, 'default', 'schedule'`,
    [id],
  );
  await open(`/monitors/${id}`);
  const event = row('Inconclusive').filter({ hasText: 'The name server did not respond' });
  await event.getByRole('button', { name: 'Details' }).click();
  await page.getByText('Region default had no network.').waitFor();
  await until('the figures count it', async () => {
    await page.reload();
    await settle(page);
    return page
      .getByText(/check.*, 1 inconclusive/)
      .first()
      .isVisible();
  });
  await open('/');
  await row('Mirror')
    .getByRole('img', { name: /checks? passed, 1 inconclusive/ })
    .waitFor();
  await row('Mirror').getByText('Up', { exact: true }).waitFor();
});
