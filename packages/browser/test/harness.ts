import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import { openContext, settle, type WatchedContext } from '@tocsin/browser/browser';
import {
  acceptInvitation,
  createDashboardSystem,
  type DashboardSystem,
  type DashboardUser,
} from '@tocsin/browser/dashboard-system';
import { until } from '@tocsin/embedded/testing/until';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';

/** The second user, a member. */
export const MEMBER = { name: 'Bob', email: 'bob@example.com', password: 'another horse battery' };

export interface UsedDashboard {
  dashboard: DashboardSystem;
  owner: DashboardUser;
  /** Browser profile of one test. The owner is signed in. */
  watched: WatchedContext;
  page: Page;
}

/**
 * Gives the tests of a file one system and one browser, and each test its own browser profile, which is closed after the test. A test fails
 * if its page causes an error, a policy violation or a request to another host.
 * @param isProblem false for errors that the tests cause
 */
export function useDashboard(
  options: BrowserContextOptions = {},
  isProblem: (problem: string) => boolean = () => true,
): UsedDashboard {
  const used = {} as UsedDashboard;
  beforeAll(async () => {
    used.dashboard = await createDashboardSystem();
    used.owner = await used.dashboard.createOwner();
  });
  afterAll(() => used.dashboard.close());
  beforeEach(async () => {
    [used.watched, used.page] = await openAs(used.dashboard, used.owner, options);
  });
  afterEach(async () => {
    const { context, problems } = used.watched;
    await context.close();
    expect(problems.filter(isProblem)).toEqual([]);
  });
  return used;
}

/** Opens a browser profile in which a user is signed in. */
export async function openAs(
  { browser }: Pick<DashboardSystem, 'browser'>,
  user: DashboardUser,
  options: BrowserContextOptions = {},
): Promise<[WatchedContext, Page]> {
  const watched = await openContext(browser, { viewport: { width: 1_280, height: 900 }, ...options });
  await watched.context.addCookies(user.cookies);
  return [watched, await watched.context.newPage()];
}

/** Creates `MEMBER`. */
export async function inviteMember({ api }: DashboardSystem, owner: DashboardUser): Promise<DashboardUser> {
  const { token } = await owner.call('POST /api/dashboard/invitations', { body: { role: 'member' } });
  return acceptInvitation(api.port, token, MEMBER);
}

export async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await settle(page);
}

export const heading = (page: Page, name: string): Locator =>
  page.getByRole('heading', { level: 1, name, exact: true });

/** Finds a text field by its name. The label of a required field has a mark. */
export const field = (where: Page | Locator, name: string): Locator =>
  where.getByRole('textbox', { name, exact: true });

export const row = (page: Page, name: string): Locator => page.getByRole('row').filter({ hasText: name });

/** Waits until the list of monitors has these names, in this order. */
export async function waitForNames(page: Page, ...names: string[]): Promise<void> {
  const links = page.getByRole('table', { name: 'Monitors' }).locator('tbody th > a');
  await until(
    `the monitors ${names.join(', ')}`,
    async () => (await links.allInnerTexts()).join() === names.join(),
  );
}

/** Creates monitors that are checked only once an hour, so that tests see few checks. @returns their ids, by name */
export async function createMonitors(
  { dashboard, owner }: Pick<UsedDashboard, 'dashboard' | 'owner'>,
  monitors: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const [name, labels] of Object.entries(monitors)) {
    const body = { name, url: dashboard.target.url('/'), labels, interval: 3_600 };
    ids.set(name, (await owner.call('POST /api/dashboard/monitors', { body })).monitor.id);
  }
  return ids;
}

/** Deletes the monitors and channels of earlier tests. */
export async function deleteAll({ dashboard }: UsedDashboard): Promise<void> {
  await dashboard.system.database.pool.query('delete from monitors; delete from channels');
}
