import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { checkOf } from '@tocsin/bench/scenarios/selectors';
import { openContext, type WatchedContext } from '@tocsin/browser/browser';
import {
  createDashboardSystem,
  type DashboardSystem,
  type DashboardUser,
} from '@tocsin/browser/dashboard-system';
import { Seam } from '@tocsin/browser/seams';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { until } from '@tocsin/embedded/testing/until';
import type { Locator, Page } from 'playwright-core';

let dashboard: DashboardSystem;
let owner: DashboardUser;
let watched: WatchedContext;
let page: Page;
let monitorId: string;

beforeAll(async () => {
  dashboard = await createDashboardSystem();
  owner = await dashboard.createOwner();
  const body = { name: 'Shop', url: dashboard.target.url('/') };
  ({
    monitor: { id: monitorId },
  } = await owner.call('POST /api/dashboard/monitors', { body }));
});
afterAll(() => dashboard.close());
beforeEach(async () => {
  watched = await openContext(dashboard.browser, { viewport: { width: 1_280, height: 900 } });
  await watched.context.addCookies(owner.cookies);
  page = await watched.context.newPage();
  await record('UP');
});
afterEach(async () => {
  expect(watched.problems).toEqual([]);
  await watched.context.close();
});

/** Records a check, as a checker does. */
async function record(status: 'UP' | 'DOWN'): Promise<void> {
  await recordChecks(dashboard.system.database.db, [checkOf(monitorId, status)]);
}

const row = (): Locator => page.getByRole('row').filter({ hasText: 'Shop' });

/**
 * Opens a page with the first responses of a path, which are read before the monitor goes down and arrive after a stream could begin.
 */
async function openAcrossChange(path: string, held: readonly string[]): Promise<void> {
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

test('the list shows a status that changed before its response arrived', async () => {
  await openAcrossChange('/', ['/api/dashboard/overview']);
  await row().getByText('Down', { exact: true }).waitFor();
});

test('the incidents show one that opened before their response arrived', async () => {
  await openAcrossChange('/incidents', ['/api/dashboard/overview', '/api/dashboard/incidents*state=open*']);
  await page.getByRole('main').getByRole('link', { name: 'Shop' }).waitFor();
});

test('the page of a monitor shows a status that changed before its response arrived', async () => {
  await openAcrossChange(`/monitors/${monitorId}`, [
    '/api/dashboard/overview',
    `/api/dashboard/monitors/${monitorId}`,
  ]);
  await page.getByRole('main').getByText('Down', { exact: true }).first().waitFor();
});

test('a list that differs from the server is corrected, and says so', async () => {
  await page.goto('/');
  await row().getByText('Up', { exact: true }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  // Without a record, so the stream does not tell.
  const pretend = `update monitors set status = 'DOWN', status_since = date_trunc('milliseconds', clock_timestamp())`;
  await dashboard.system.database.pool.query(pretend);
  await page.getByRole('alert').filter({ hasText: 'Statuses corrected' }).waitFor();
  await row().getByText('Down', { exact: true }).waitFor();
});
