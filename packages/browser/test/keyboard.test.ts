import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { openContext, type WatchedContext } from '@tocsin/browser/browser';
import {
  createDashboardSystem,
  type DashboardSystem,
  type DashboardUser,
  OWNER,
} from '@tocsin/browser/dashboard-system';
import { type Keyboard, useKeyboard } from '@tocsin/browser/keyboard';
import type { Page } from 'playwright-core';

const MONITOR = 'Shop';
const CHANNEL = 'On call';
const WINDOW = 'Upgrade';

let dashboard: DashboardSystem;
let watched: WatchedContext;
let owner: DashboardUser;
let page: Page;
let keyboard: Keyboard;

beforeAll(async () => {
  dashboard = await createDashboardSystem();
  owner = await dashboard.createOwner();
  await owner.call('POST /api/dashboard/monitors', {
    body: { name: 'Another', url: dashboard.target.url('/another'), interval: 3_600 },
  });
  await dashboard.system.service('checker', { REGION: 'default' }).start();
  await dashboard.system.service('notifier').start();
  watched = await openContext(dashboard.browser, { viewport: { width: 1_280, height: 900 } });
  page = await watched.context.newPage();
  keyboard = useKeyboard(page);
});
afterAll(() => dashboard.close());
afterEach(() => expect(watched.problems).toEqual([]));

let brokenBy: string | null = null;
/** A step of the story. After a failed step, the others fail at once. */
function step(name: string, run: () => Promise<void>): void {
  test(name, async () => {
    if (brokenBy !== null) throw new Error(`Skipped after this failure: ${brokenBy}`);
    brokenBy = name;
    await run();
    brokenBy = null;
  });
}

/** Opens a page by the navigation, which is before its heading. */
async function openPage(name: string): Promise<void> {
  await keyboard.reachBack(new RegExp(`^${name}`), 'a');
  await keyboard.press('Enter');
  await keyboard.landsOn(name, 'h1');
}

step('a person signs in', async () => {
  await page.goto('/');
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  await keyboard.reach('Email address');
  await keyboard.type(OWNER.email);
  await keyboard.reach('Password');
  await keyboard.type(OWNER.password);
  await keyboard.press('Enter');
  await keyboard.landsOn('Monitors', 'h1');
});

step('the text is set in the typeface of the dashboard', async () => {
  const fonts = await page.evaluate(async () => {
    const { family, status } = [...(await document.fonts.load('14px "Inter Variable"'))][0] ?? {};
    return {
      family: family?.replaceAll('"', ''),
      status,
      first: getComputedStyle(document.body).fontFamily.split(',')[0],
    };
  });
  expect(fonts).toEqual({ family: 'Inter Variable', status: 'loaded', first: '"Inter Variable"' });
});

step('the link at the top skips the navigation', async () => {
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Monitors' }).waitFor();
  await keyboard.press('Tab');
  expect(await keyboard.focused()).toMatchObject({ name: 'Skip to content', isVisible: true });
  await keyboard.press('Enter');
  await keyboard.reach('New monitor');
});

step('a monitor is created', async () => {
  await keyboard.press('Enter');
  await keyboard.landsOn('New monitor', 'h1');
  await keyboard.reach('Name');
  await keyboard.type(MONITOR);
  await keyboard.reach('URL');
  await keyboard.type(dashboard.target.url('/health'));
  await keyboard.reach('Interval (seconds)');
  await keyboard.type('5');
  await keyboard.reach('Timeout (seconds)');
  // No check of a busy machine exceeds this timeout.
  await keyboard.type('60');
  await keyboard.reach('Create monitor');
  await keyboard.press('Enter');
  await keyboard.landsOn(MONITOR, 'h1');
});

step('a form that was changed asks before it is left, and keeps what was typed', async () => {
  await keyboard.reach('Edit');
  await keyboard.press('Enter');
  await keyboard.landsOn(`Edit ${MONITOR}`, 'h1');
  await keyboard.reach('Name');
  await keyboard.type('Typed');
  await keyboard.reach('Cancel');
  await keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
  await keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await keyboard.landsOn('Cancel');
  await keyboard.press('Enter');
  await keyboard.reach('Leave');
  await keyboard.press('Enter');
  await keyboard.landsOn(MONITOR, 'h1');
  const { monitors } = await owner.call('GET /api/dashboard/monitors');
  expect(monitors.map(({ name }) => name).toSorted()).toEqual(['Another', MONITOR]);
});

step('the list is filtered, and the monitor found opens', async () => {
  await openPage('Monitors');
  await keyboard.press('/');
  await keyboard.type(MONITOR);
  await page.getByRole('link', { name: 'Another' }).waitFor({ state: 'detached' });
  await keyboard.reach(MONITOR, 'a');
  dashboard.target.status = 503;
  await keyboard.press('Enter');
  await keyboard.landsOn(MONITOR, 'h1');
});

step('the incident of an outage is acknowledged', async () => {
  await openPage('Incidents');
  await page.getByRole('main').getByRole('link', { name: MONITOR }).waitFor();
  await keyboard.reach(MONITOR, 'a');
  await keyboard.press('Enter');
  await keyboard.landsOn(`${MONITOR} is down`, 'h1');
  await keyboard.reach('Acknowledge');
  await keyboard.press('Enter');
  await keyboard.landsOn('Remove acknowledgement');
});

step('a maintenance window is planned', async () => {
  await openPage('Maintenance');
  await keyboard.reach('New window');
  await keyboard.press('Enter');
  await keyboard.landsOn('New maintenance window', 'h1');
  await keyboard.reach('Name');
  await keyboard.type(WINDOW);
  await keyboard.reach('Monitors');
  await keyboard.type(MONITOR);
  await page.getByRole('option', { name: MONITOR }).waitFor();
  await keyboard.press('Enter');
  await page.getByText(/^1 of .* selected/).waitFor();
  await keyboard.reach('Create window');
  await keyboard.press('Enter');
  await keyboard.landsOn(WINDOW, 'h1');
});

step('a channel is created, and its secret shown once', async () => {
  await openPage('Channels');
  await keyboard.reach('New channel');
  await keyboard.press('Enter');
  await keyboard.landsOn('New channel', 'h1');
  await keyboard.reach('Name');
  await keyboard.type(CHANNEL);
  await keyboard.reach('URL');
  await keyboard.type(dashboard.receiver.url('/hook'));
  await keyboard.reach('Create channel');
  await keyboard.press('Enter');
  await page.getByText(/whsec_/).waitFor();
  await keyboard.reach('I have stored it');
  await keyboard.press('Enter');
  await keyboard.landsOn(CHANNEL, 'h1');
});

step('an API key is created and deleted, and the focus goes to the heading with its row', async () => {
  await openPage('API keys');
  await keyboard.reach('New API key');
  await keyboard.press('Enter');
  await keyboard.landsOn('Name');
  await keyboard.type('CI');
  await keyboard.press('Enter');
  await keyboard.reach('Done');
  await keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await keyboard.reach('Delete the key CI');
  await keyboard.press('Enter');
  await keyboard.landsOn('Type CI to confirm');
  await keyboard.type('CI');
  await keyboard.press('Enter');
  await page.getByRole('row').filter({ hasText: 'CI' }).waitFor({ state: 'detached' });
  await keyboard.landsOn('API keys', 'h1');
});

step('the palette opens a page, and gives the focus back', async () => {
  const field = 'Search monitors, pages and actions';
  await keyboard.press('Control+k');
  await keyboard.landsOn(field);
  await keyboard.press('Escape');
  await keyboard.landsOn('API keys', 'h1');
  await keyboard.press('Control+k');
  await keyboard.landsOn(field);
  await keyboard.type('Profile');
  await keyboard.press('Enter');
  await keyboard.landsOn('Profile and sessions', 'h1');
});

step('the account menu signs out', async () => {
  await keyboard.reachBack('Account');
  await keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
  await keyboard.reachBelow('Sign out');
  await keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
});
