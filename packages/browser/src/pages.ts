import { agentTokenRoutes } from '@tocsin/contracts/agents/routes';
import { regionRoutes } from '@tocsin/contracts/regions/routes';
import type { Page } from 'playwright-core';
import type { Filled } from './fill/fill-system.ts';
import { CANARY_REGION, IN_MAINTENANCE, UNSERVED_REGION } from './fill/monitors.ts';

/** A page of the dashboard in one state. */
export interface DashboardPage {
  /** Unique. Names the screenshots. */
  readonly name: string;
  /** The path in the router. */
  readonly route: string;
  /** The query and fragment, or another path. @default the route with its ids */
  readonly path?: string;
  readonly isSignedOut?: boolean;
  /** The page looks different without data. */
  readonly isAlsoEmpty?: boolean;
  /** Opens a part of the page. */
  readonly open?: (page: Page) => Promise<void>;
  /** The error status of a response to this page, which the browser logs. */
  readonly errorStatus?: number;
}

/** Returns the path of a page with the ids of seeded data. */
export function pathOf({ route, path = route }: DashboardPage, filled: Filled): string {
  const ids: Readonly<Record<string, string>> = { ...filled, token: filled.invitationToken };
  return path.replaceAll(/\$(\w+)/g, (_, name: string) => ids[name] ?? '');
}

/** Lets requests for this path fail from now on. */
async function failRequests(page: Page, path: string): Promise<void> {
  await page.route(`**${path}`, (route) => route.fulfill({ status: 503, body: '' }));
}

/** Shows the session as ended from now on. */
async function endSession(page: Page): Promise<void> {
  await page.route('**/api/auth/get-session', (route) => route.fulfill({ json: null }));
  await page.route('**/api/dashboard/incidents*', (route) => route.fulfill({ status: 401, json: {} }));
  await page.reload();
  await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
}

/** Changes a region in the responses from now on. */
async function changeRegion(page: Page, code: string, change: object): Promise<void> {
  const body = await page.evaluate(async () => (await fetch('/api/dashboard/regions')).text());
  const { regions } = JSON.parse(body) as { readonly regions: readonly { readonly region: string }[] };
  const json = { regions: regions.map((one) => (one.region === code ? Object.assign(one, change) : one)) };
  await page.route('**/api/*/regions', (route) => route.fulfill({ json }));
  await page.reload();
}

const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();

async function isolateRegion(page: Page): Promise<void> {
  await changeRegion(page, CANARY_REGION, { health: 'isolated', since: minutesAgo(48) });
  await page.getByText(/^Region .* has had no network/).waitFor();
}

/** Shows a region as an agent region with a token. @param change further fields of the region */
async function showAgents(page: Page, change: object = {}): Promise<void> {
  const { regions } = regionRoutes.listSharedRegions.responseExample;
  const { listAgentTokens, createAgentToken } = agentTokenRoutes;
  await page.route('**/api/*/regions/*/agent-tokens', (route) =>
    route.fulfill({
      json: (route.request().method() === 'GET' ? listAgentTokens : createAgentToken).responseExample,
    }),
  );
  const { region: _, monitors: _monitors, ...served } = regions[0];
  await changeRegion(page, UNSERVED_REGION, { ...served, ...change });
}

async function disconnectAgents(page: Page): Promise<void> {
  const disconnected = { agents: [], served: false, health: 'disconnected', since: minutesAgo(48) };
  await showAgents(page, disconnected);
  await page.getByText(/^Region .* has had no connected agent/).waitFor();
}

async function selectMonitors(page: Page, ...names: readonly string[]): Promise<void> {
  await page.getByRole('button', { name: 'Select', exact: true }).click();
  for (const name of names) await page.getByRole('checkbox', { name: `Select ${name}` }).check();
}

/** Opens the details of an event with this result. @param position 0 is the latest, -1 the first */
async function openEvent(page: Page, result: string, position = 0): Promise<void> {
  const events = page.getByRole('group', { name: 'Latest events' }).getByRole('row');
  const event = events.filter({ has: page.getByText(result, { exact: true }) }).nth(position);
  await event.getByRole('button', { name: 'Details' }).click();
}

/** Enters a label selector, and waits for its preview. */
async function fillSelector(page: Page, selector: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Label selector' }).fill(selector);
  await page.getByText(/^Matches \d+ monitors: /).waitFor();
}

/** An empty system. */
export const NO_IDS: Filled = {
  monitorId: '',
  upMonitorId: '',
  unservedMonitorId: '',
  channelId: '',
  windowId: '',
  incidentId: '',
  invitationToken: 'none',
  accountId: '',
};

const dayBefore = (days: number): string =>
  new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
/** A period that contains the incidents of a filled system. */
const LATEST_DAYS = `from=${dayBefore(29)}&to=${dayBefore(0)}&zone=UTC`;

/** The page is a 404 until `open` makes the region an agent region. */
const AGENT_REGION = { route: '/regions/$code', path: `/regions/${UNSERVED_REGION}`, errorStatus: 404 };

/** Every page. `npm run test:campaigns -- accessibility` compares them with the routes of the router. */
export const PAGES: readonly DashboardPage[] = [
  { name: 'sign-in', route: '/sign-in', isSignedOut: true },
  { name: 'signed-in', route: '/sign-in/done', isSignedOut: true },
  { name: 'set-up', route: '/setup', path: '/setup?token=none', isSignedOut: true, errorStatus: 404 },
  {
    name: 'invitation-used',
    route: '/invitation',
    path: '/invitation?token=none',
    isSignedOut: true,
    errorStatus: 404,
  },
  { name: 'invitation', route: '/invitation', path: '/invitation?token=$token', isSignedOut: true },
  { name: 'monitors', route: '/', isAlsoEmpty: true },
  { name: 'monitors-none-found', route: '/', path: '/?q=nothing+like+it' },
  { name: 'monitors-of-a-region', route: '/', path: `/?region=${UNSERVED_REGION}` },
  { name: 'monitors-by-labels', route: '/', path: '/?selector=team%3Dcheckout,tier' },
  { name: 'monitors-bad-selector', route: '/', path: '/?selector=team+in+checkout' },
  {
    name: 'monitors-selected',
    route: '/',
    open: async (page) => {
      await selectMonitors(page, 'Shop', 'Payments');
      await page.getByRole('button', { name: 'Edit labels' }).waitFor();
    },
  },
  {
    name: 'edit-labels',
    route: '/',
    open: async (page) => {
      await selectMonitors(page, 'Shop');
      await page.getByRole('button', { name: 'Edit labels' }).click();
      const field = page.getByRole('dialog').getByLabel('Add', { exact: true });
      await field.fill('team=checkout');
      await field.press('Enter');
    },
  },
  { name: 'monitors-by-team', route: '/', path: '/?group=team' },
  {
    name: 'monitors-slowest',
    route: '/',
    path: '/?order=latency&columns=labels,checks,latency,p95,p99,certificate,checked',
  },
  {
    name: 'monitors-views',
    route: '/',
    open: async (page) => {
      await page.getByRole('button', { name: 'Views' }).click();
      await page.getByRole('link', { name: 'Not acknowledged' }).waitFor();
    },
  },
  {
    name: 'monitors-display',
    route: '/',
    path: '/?group=team',
    open: async (page) => {
      await page.getByRole('button', { name: 'Display' }).click();
      await page.getByRole('button', { name: 'Export CSV' }).waitFor();
    },
  },
  {
    name: 'delete-monitors',
    route: '/',
    open: async (page) => {
      await selectMonitors(page);
      await page.getByRole('button', { name: /^Select all/ }).click();
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('textbox').waitFor();
    },
  },
  {
    name: 'assign-channels',
    route: '/',
    open: async (page) => {
      await selectMonitors(page, 'Shop');
      await page.getByRole('button', { name: 'Assign channels' }).click();
      await page.getByRole('dialog').getByLabel('Channels', { exact: true }).first().waitFor();
    },
  },
  {
    name: 'monitors-not-live',
    route: '/',
    open: async (page) => {
      await failRequests(page, '/api/dashboard/stream*');
      await page.reload();
      await page.getByText('Not live', { exact: true }).waitFor();
    },
    errorStatus: 503,
  },
  { name: 'monitors-isolated', route: '/', open: isolateRegion },
  {
    name: 'palette',
    route: '/',
    open: async (page) => {
      await page.getByRole('button', { name: 'Search', exact: true }).first().click();
      await page.getByRole('combobox', { name: 'Search monitors, pages and actions' }).fill('a');
      await page.getByRole('listbox', { name: 'Results' }).getByRole('option').first().waitFor();
    },
  },
  {
    name: 'keys',
    route: '/',
    open: async (page) => {
      await page.keyboard.press('?');
      await page.getByRole('table', { name: 'Keyboard shortcuts' }).waitFor();
    },
  },
  { name: 'sign-in-again', route: '/channels/new', open: endSession, errorStatus: 401 },
  { name: 'new-monitor', route: '/monitors/new' },
  {
    name: 'new-monitor-tested',
    route: '/monitors/new',
    open: async (page) => {
      const timings = { dns: 3, tcp: 11, tls: 24, firstByte: 61, download: 2 };
      const test = {
        status: 'DOWN',
        region: 'eu-west-1',
        latency: 101,
        statusCode: 503,
        errorReason: 'HTTP_503',
        errorDetail: 'expected a status from 200 to 399, got 503',
        inconclusive: false,
        timings,
        response: { statusCode: 503, headers: { 'retry-after': '30' }, body: 'upstream connect error' },
      };
      await page.route('**/monitors/test', (route) => route.fulfill({ json: { test } }));
      await page.getByRole('textbox', { name: 'URL', exact: true }).fill('https://shop.example.com/health');
      await page.getByRole('button', { name: 'Run a check' }).click();
      await page.getByText('upstream connect error').scrollIntoViewIfNeeded();
    },
  },
  { name: 'new-monitor-copy', route: '/monitors/new', path: '/monitors/new?from=$monitorId' },
  { name: 'monitor', route: '/monitors/$monitorId' },
  { name: 'monitor-up', route: '/monitors/$monitorId', path: '/monitors/$upMonitorId?range=90d' },
  { name: 'monitor-unserved', route: '/monitors/$monitorId', path: '/monitors/$unservedMonitorId' },
  {
    name: 'monitor-in-maintenance',
    route: '/',
    open: async (page) => {
      await page.getByRole('link', { name: IN_MAINTENANCE }).click();
      await page.getByText('Maintenance · failing now').waitFor();
    },
  },
  {
    name: 'monitor-zoomed',
    route: '/monitors/$monitorId',
    open: async (page) => {
      const chart = page.getByRole('slider', { name: 'Status over time' });
      await chart.press('+');
      await page.getByRole('button', { name: 'Reset zoom' }).waitFor();
      await chart.press('End');
    },
  },
  {
    name: 'monitor-latency-table',
    route: '/monitors/$monitorId',
    open: async (page) => page.locator('label', { hasText: /^Table$/ }).click(),
  },
  {
    name: 'event-response',
    route: '/monitors/$monitorId',
    open: async (page) => {
      await openEvent(page, 'Inconclusive');
      // Only the first failure keeps its response.
      await openEvent(page, 'Down', -1);
      const events = page.getByRole('region', { name: 'Latest events' });
      await events.getByRole('button', { name: 'Response', exact: true }).click();
      await page.getByRole('group', { name: 'Response headers' }).scrollIntoViewIfNeeded();
    },
  },
  { name: 'monitor-gone', route: '/monitors/$monitorId', path: '/monitors/none', errorStatus: 404 },
  { name: 'edit-monitor', route: '/monitors/$monitorId/edit' },
  { name: 'incidents', route: '/incidents', isAlsoEmpty: true },
  {
    name: 'incident',
    route: '/incidents/$incidentId',
    open: async (page) => page.locator('strong', { hasText: 'payment provider' }).waitFor(),
  },
  {
    name: 'incident-note',
    route: '/incidents/$incidentId',
    open: async (page) => {
      await page.getByRole('button', { name: 'Edit note' }).click();
      await page
        .getByRole('textbox', { name: 'New note' })
        .fill('**Rolled back.** Waiting for [them](https://status.example).');
      await page.getByText('Preview', { exact: true }).last().click();
    },
  },
  { name: 'incident-gone', route: '/incidents/$incidentId', path: '/incidents/none', errorStatus: 404 },
  { name: 'reports', route: '/reports', path: `/reports?${LATEST_DAYS}`, isAlsoEmpty: true },
  { name: 'reports-by-label', route: '/reports', path: `/reports?${LATEST_DAYS}&groupBy=team` },
  { name: 'maintenance', route: '/maintenance', isAlsoEmpty: true },
  { name: 'new-maintenance', route: '/maintenance/new' },
  {
    name: 'new-maintenance-by-labels',
    route: '/maintenance/new',
    open: async (page) => fillSelector(page, 'team=checkout'),
  },
  {
    name: 'new-maintenance-clock-changes',
    route: '/maintenance/new',
    open: async (page) => {
      await page.getByLabel(/^Starts/).fill('2027-03-21T01:30');
      await page.getByRole('combobox', { name: 'Time zone' }).click();
      await page.keyboard.type('london');
      await page.keyboard.press('Enter');
      await page.getByRole('combobox', { name: 'Repeats' }).click();
      await page.getByRole('option', { name: 'Weekly' }).click();
      await page.getByText('Clock changes').waitFor();
      await page.getByRole('textbox', { name: 'Duration' }).fill('banana');
    },
  },
  { name: 'maintenance-window', route: '/maintenance/$windowId' },
  { name: 'channels', route: '/channels', isAlsoEmpty: true },
  { name: 'new-channel', route: '/channels/new' },
  {
    name: 'new-channel-by-labels',
    route: '/channels/new',
    open: async (page) => {
      await page.getByRole('radio', { name: 'Selected monitors' }).check();
      await fillSelector(page, 'app in (shop,search)');
    },
  },
  {
    name: 'new-channel-errors',
    route: '/channels/new',
    open: async (page) => {
      await page.getByRole('radio', { name: 'Selected monitors' }).check();
      await page.getByRole('textbox', { name: 'Label selector' }).fill('app in shop');
      for (const event of await page.getByRole('checkbox').all()) await event.uncheck();
      await page.getByText('Select at least one event.').waitFor();
    },
  },
  {
    name: 'new-channel-template',
    route: '/channels/new',
    open: async (page) => {
      await page.getByLabel('Format', { exact: true }).selectOption('custom');
      await page
        .getByLabel('Template')
        .fill('{ "text": {{ monitorName | json }}, "status": {{ status | json }} }');
      await page.getByText('"text": "Shop').waitFor();
      await page.getByLabel('Template').scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'new-channel-template-error',
    route: '/channels/new',
    open: async (page) => {
      await page.getByLabel('Format', { exact: true }).selectOption('custom');
      await page.getByLabel('Template').fill('{ "text": {{ monitorName | jason }} }');
      await page.getByText(/undefined filter/).waitFor();
    },
  },
  { name: 'channel', route: '/channels/$channelId' },
  {
    name: 'channel-held-alerts',
    route: '/channels/$channelId',
    open: async (page) => {
      const held = { count: 12, since: new Date(Date.now() - 48 * 60_000).toISOString() };
      await page.route('**/held-deliveries', (route) => route.fulfill({ json: { held } }));
      await page.reload();
      await page.getByText('12 held alerts', { exact: true }).waitFor();
    },
  },
  {
    name: 'disable-channel',
    route: '/channels/$channelId',
    open: async (page) => {
      await page.getByRole('button', { name: 'Disable' }).click();
      await page
        .getByRole('dialog')
        .getByText(/are held\./)
        .waitFor();
    },
  },
  {
    name: 'delivery',
    route: '/channels/$channelId',
    open: async (page) => {
      await page.getByRole('button', { name: 'Monitor down' }).first().click();
      await page.getByRole('dialog').getByRole('heading', { name: 'Attempts' }).waitFor();
    },
  },
  { name: 'regions', route: '/regions', isAlsoEmpty: true },
  { name: 'regions-isolated', route: '/regions', open: isolateRegion },
  {
    name: 'canaries',
    route: '/regions',
    open: async (page) => {
      await page.getByRole('button', { name: `Edit the canaries of ${CANARY_REGION}` }).click();
      await page.getByRole('dialog').getByRole('option').first().waitFor();
    },
  },
  {
    name: 'regions-not-refreshed',
    route: '/regions',
    open: async (page) => {
      await failRequests(page, '/api/dashboard/regions');
      await page.getByText('refresh failed, retrying').waitFor();
      await page.getByRole('row').filter({ hasText: UNSERVED_REGION }).waitFor();
    },
    errorStatus: 503,
  },
  { name: 'regions-disconnected', route: '/regions', open: disconnectAgents },
  {
    name: 'new-region',
    route: '/regions',
    open: async (page) => {
      await page.getByRole('button', { name: 'New region' }).click();
      await page.getByRole('dialog').getByLabel('Code').fill('Office Zurich');
    },
  },
  { ...AGENT_REGION, name: 'agent-region', open: showAgents },
  {
    ...AGENT_REGION,
    name: 'delete-agent-region',
    open: async (page) => {
      await disconnectAgents(page);
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    ...AGENT_REGION,
    name: 'new-agent-token',
    open: async (page) => {
      await showAgents(page);
      await page.getByRole('button', { name: 'New token' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill('Rack 3');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('button', { name: 'Copy the token' }).waitFor();
    },
  },
  { name: 'api-keys', route: '/api-keys', isAlsoEmpty: true },
  {
    name: 'new-api-key',
    route: '/api-keys',
    open: async (page) => {
      await page.getByRole('button', { name: 'New API key' }).first().click();
      await page.getByRole('dialog').getByLabel('Name').waitFor();
    },
  },
  { name: 'audit-log', route: '/audit-log', isAlsoEmpty: true },
  { name: 'audit-log-of-a-monitor', route: '/audit-log', path: '/audit-log?targetId=$monitorId' },
  { name: 'audit-log-none-found', route: '/audit-log', path: '/audit-log?targetId=none' },
  { name: 'people', route: '/people' },
  {
    name: 'make-owner',
    route: '/people',
    open: async (page) => {
      await page
        .getByLabel(/^Role of /)
        .first()
        .selectOption('owner');
      await page
        .getByRole('dialog')
        .getByText(/^Owners see channel secrets/)
        .waitFor();
    },
  },
  { name: 'profile', route: '/profile' },
  { name: 'accounts', route: '/operator/accounts' },
  {
    name: 'new-account',
    route: '/operator/accounts',
    open: async (page) => {
      await page.getByRole('button', { name: 'New account' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill('Web shop');
    },
  },
  { name: 'account', route: '/operator/accounts/$accountId' },
  {
    name: 'add-member',
    route: '/operator/accounts/$accountId',
    open: async (page) => {
      await page.getByRole('button', { name: 'Add a member' }).click();
      await page.getByRole('dialog').getByLabel('Email address').waitFor();
    },
  },
  {
    name: 'shared-region',
    route: '/operator/regions/$code',
    path: `/operator/regions/${UNSERVED_REGION}`,
    open: showAgents,
    errorStatus: 404,
  },
  { name: 'operator-audit-log', route: '/operator/audit-log' },
  {
    name: 'account-menu',
    route: '/',
    open: async (page) => {
      await page.getByRole('button', { name: /^Account: / }).click();
      await page.getByRole('menuitem', { name: 'Manage accounts' }).waitFor();
    },
  },
  { name: 'account-not-found', route: '', path: '/none', errorStatus: 404 },
  { name: 'not-found', route: '', path: '/default/no/such/page' },
  { name: 'not-found-signed-out', route: '', path: '/default/no/such/page', isSignedOut: true },
];

export const EMPTY_PAGES = PAGES.filter(({ isAlsoEmpty }) => isAlsoEmpty);

export const DESKTOP = { width: 1_440, height: 900 };
/** The narrowest common phone. */
export const PHONE = { width: 360, height: 780 };

/** Reads the path of every route from the global of the router's developer tools. */
export function readRoutes(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const router = Reflect.get(globalThis, '__TSR_ROUTER__') as { routesByPath: object };
    return Object.keys(router.routesByPath);
  });
}
