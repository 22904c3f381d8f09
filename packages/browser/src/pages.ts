import type { Page } from 'playwright-core';
import type { Filled } from './fill/fill-system.ts';
import { UNSERVED_REGION } from './fill/monitors.ts';

/** A page of the dashboard, as somebody may see it. */
export interface DashboardPage {
  /** Unique; the name of its screenshots. */
  readonly name: string;
  /** As the router has it. */
  readonly route: string;
  /** Where to go. @param filled null where the system has no data */
  readonly path: (filled: Filled) => string;
  /** Opened by somebody who is not signed in. */
  readonly isEntrance?: boolean;
  /** Another page without data than with it. */
  readonly isAlsoEmpty?: boolean;
  /** What to do there first: a part of the page that has to be opened. */
  readonly open?: (page: Page) => Promise<void>;
  /** A status that its console speaks of by design. */
  readonly refusal?: number;
}

/** From now on the api does not answer requests for this path. */
async function takeAway(page: Page, path: string): Promise<void> {
  await page.route(`**${path}`, (route) => route.fulfill({ status: 503, body: '' }));
}

/** Every page: a test holds that each route has one. */
export const PAGES: readonly DashboardPage[] = [
  { name: 'sign-in', route: '/sign-in', path: () => '/sign-in', isEntrance: true },
  { name: 'set-up', route: '/setup', path: () => '/setup?token=none', isEntrance: true },
  {
    name: 'invitation',
    route: '/invitation',
    path: ({ invitationToken }) => `/invitation?token=${invitationToken}`,
    isEntrance: true,
  },
  { name: 'monitors', route: '/', path: () => '/', isAlsoEmpty: true },
  { name: 'monitors-none-found', route: '/', path: () => '/?q=nothing+like+it' },
  { name: 'monitors-of-a-region', route: '/', path: () => `/?region=${UNSERVED_REGION}` },
  {
    name: 'monitors-not-live',
    route: '/',
    path: () => '/',
    open: async (page) => {
      await takeAway(page, '/api/dashboard/stream*');
      await page.reload();
      await page.getByText('Not live', { exact: true }).waitFor();
    },
    refusal: 503,
  },
  { name: 'new-monitor', route: '/monitors/new', path: () => '/monitors/new' },
  { name: 'monitor', route: '/monitors/$monitorId', path: ({ monitorId }) => `/monitors/${monitorId}` },
  { name: 'monitor-gone', route: '/monitors/$monitorId', path: () => '/monitors/none', refusal: 404 },
  {
    name: 'edit-monitor',
    route: '/monitors/$monitorId/edit',
    path: ({ monitorId }) => `/monitors/${monitorId}/edit`,
  },
  { name: 'incidents', route: '/incidents', path: () => '/incidents', isAlsoEmpty: true },
  { name: 'maintenance', route: '/maintenance', path: () => '/maintenance', isAlsoEmpty: true },
  { name: 'new-maintenance', route: '/maintenance/new', path: () => '/maintenance/new' },
  {
    name: 'maintenance-window',
    route: '/maintenance/$windowId',
    path: ({ windowId }) => `/maintenance/${windowId}`,
  },
  { name: 'channels', route: '/channels', path: () => '/channels', isAlsoEmpty: true },
  { name: 'new-channel', route: '/channels/new', path: () => '/channels/new' },
  { name: 'channel', route: '/channels/$channelId', path: ({ channelId }) => `/channels/${channelId}` },
  {
    name: 'delivery',
    route: '/channels/$channelId',
    path: ({ channelId }) => `/channels/${channelId}`,
    open: async (page) => {
      await page.getByRole('button', { name: 'Monitor down' }).first().click();
      await page.getByRole('dialog').getByRole('heading', { name: 'Attempts' }).waitFor();
    },
  },
  { name: 'regions', route: '/regions', path: () => '/regions', isAlsoEmpty: true },
  {
    name: 'regions-not-refreshed',
    route: '/regions',
    path: () => '/regions',
    open: async (page) => {
      await takeAway(page, '/api/dashboard/regions');
      await page.getByText('refresh failed, retrying').waitFor();
      await page.getByRole('row').filter({ hasText: UNSERVED_REGION }).waitFor();
    },
    refusal: 503,
  },
  { name: 'api-keys', route: '/api-keys', path: () => '/api-keys', isAlsoEmpty: true },
  {
    name: 'new-api-key',
    route: '/api-keys',
    path: () => '/api-keys',
    open: async (page) => {
      await page.getByRole('button', { name: 'New API key' }).first().click();
      await page.getByRole('dialog').getByLabel('Name').waitFor();
    },
  },
  { name: 'people', route: '/people', path: () => '/people' },
  { name: 'profile', route: '/profile', path: () => '/profile' },
  { name: 'not-found', route: '', path: () => '/no/such/page' },
];

/** Those that a system without data shows otherwise. */
export const EMPTY_PAGES = PAGES.filter(({ isAlsoEmpty }) => isAlsoEmpty);

export const DESKTOP = { width: 1_280, height: 800 };
export const PHONE = { width: 390, height: 844 };

interface Router {
  readonly routesByPath: Readonly<Record<string, unknown>>;
}

/** The path of every route of the open dashboard. Its router says where it is, for its developer tools. */
export function readRoutes(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const router: unknown = Reflect.get(globalThis, '__TSR_ROUTER__');
    return Object.keys((router as Router).routesByPath);
  });
}
