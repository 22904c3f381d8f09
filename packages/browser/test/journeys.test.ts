import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { documentTime, openContext } from '@tocsin/browser/browser';
import {
  createDashboardSystem,
  type DashboardSystem,
  type DashboardUser,
  OWNER,
  signIn,
} from '@tocsin/browser/dashboard-system';
import { useKeyboard } from '@tocsin/browser/keyboard';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { until } from '@tocsin/embedded/testing/until';
import type { Page } from 'playwright-core';
import { createMonitors, field, heading, inviteMember, open, openAs, row, waitForNames } from './harness.ts';

let dashboard: DashboardSystem;
/** Target of a monitor that other tests do not change. */
const targets: HttpTarget[] = [];

beforeAll(async () => {
  dashboard = await createDashboardSystem();
});
afterAll(async () => {
  await dashboard.close();
  await Promise.all(targets.map((target) => target.stop()));
});

async function startTarget(): Promise<HttpTarget> {
  const target = await HttpTarget.start();
  targets.push(target);
  return target;
}

test('a first user signs in, creates a monitor and a channel, and sees an outage without a reload', async () => {
  const { context, problems } = await openContext(dashboard.browser);
  const page = await context.newPage();
  const openPage = (name: string): Promise<void> =>
    page.getByRole('navigation').getByRole('link', { name }).click();
  const status = (word: string): Promise<void> =>
    row(page, 'Shop').getByText(word, { exact: true }).waitFor();

  await page.goto(await dashboard.setupPath());
  await page.getByLabel('Your name').fill(OWNER.name);
  await page.getByLabel('Email address').fill(OWNER.email);
  await field(page, 'Password').fill(OWNER.password);
  await page.getByRole('button', { name: 'Create owner' }).click();
  await page.getByText('No monitors yet').waitFor();
  const loadedAt = await documentTime(page);

  await page.getByRole('link', { name: 'New monitor' }).click();
  await field(page, 'Name').fill('Shop');
  await field(page, 'URL').fill(dashboard.target.url('/health'));
  await field(page, 'Interval (seconds)').fill('5');
  // No check of a busy machine exceeds this timeout.
  await page.getByLabel('Timeout (seconds)').fill('60');
  await page.getByLabel('Runbook URL').fill('https://wiki.example.com/shop');
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await heading(page, 'Shop').waitFor();
  await openPage('Monitors');
  // No checker runs yet, so the status cannot change before the test looks.
  await status('Pending');
  await Promise.all([
    dashboard.system.service('checker', { REGION: 'default' }).start(),
    dashboard.system.service('notifier').start(),
  ]);
  await status('Up');

  await openPage('Channels');
  await page.getByRole('link', { name: 'New channel' }).first().click();
  await field(page, 'Name').fill('On call');
  await field(page, 'URL').fill(dashboard.receiver.url('/hook'));
  await page.getByRole('button', { name: 'Create channel' }).click();
  const secret = page.getByRole('dialog');
  await secret.getByText(/whsec_/).waitFor();
  await secret.getByRole('button', { name: 'Done' }).click();
  await heading(page, 'On call').waitFor();
  const send = page.getByRole('button', { name: 'Send a test event' });
  await until('a response to a test event', async () => {
    if (await page.getByText('HTTP 200').isVisible()) return true;
    // On a busy machine, the notifier can miss the deadline, so send it again.
    if (await send.isEnabled()) await send.click();
    return false;
  });
  expect(dashboard.receiver.received.length).toBeGreaterThan(0);
  const channelUrl = page.url();

  const incidents = await context.newPage();
  await incidents.goto('/incidents');
  await incidents.getByText('No incidents yet').first().waitFor();
  const incidentsLoadedAt = await documentTime(incidents);
  await openPage('Monitors');
  dashboard.target.status = 503;
  await status('Down');
  await page.getByLabel('1 down').waitFor();
  await incidents.getByRole('main').getByRole('link', { name: 'Shop' }).waitFor();
  expect(await documentTime(incidents)).toBe(incidentsLoadedAt);
  expect(await documentTime(page)).toBe(loadedAt);

  const downs = (): string[] =>
    dashboard.receiver.received
      .map(({ body }) => body)
      .filter((body) => body.includes('"monitor.down"') && body.includes('Shop'));
  await until('the webhook', () => downs().length > 0);
  await page.goto(channelUrl);
  // The test event is a `Monitor down` event, too.
  const entry = page.getByRole('row').filter({ hasText: 'Monitor down' }).filter({ hasText: 'Shop' });
  await entry.getByText('Delivered', { exact: true }).waitFor();
  await entry.getByRole('button', { name: 'Monitor down' }).click();
  const delivery = page.getByRole('dialog');
  await delivery.getByText('HTTP 200').waitFor();
  const before = downs().length;
  await delivery.getByRole('button', { name: 'Redeliver' }).click();
  await until('the same webhook again', () => downs().length > before);
  expect(new Set(downs()).size).toBe(1);
  dashboard.target.status = 200;
  await context.close();
  expect(problems).toEqual([]);
});

/** The owner that the first journey created. */
const signInOwner = (): Promise<DashboardUser> => signIn(dashboard.api.port, OWNER);

test('at night, an incident is acknowledged by one user, taken over by another, annotated and resolved', async () => {
  const owner = await signInOwner();
  const target = await startTarget();
  target.status = 503;
  target.body = 'upstream is out of order';
  const body = { name: 'Payments', url: target.url('/'), interval: 5, timeout: 60 };
  await owner.call('POST /api/dashboard/monitors', { body });
  const [ofAda, ada] = await openAs(dashboard, owner);
  const [ofBob, bob] = await openAs(dashboard, await inviteMember(dashboard, owner));
  const timeline = (page: Page) => page.getByRole('region', { name: 'Timeline' });

  await ada.goto('/incidents');
  await ada.getByRole('main').getByRole('link', { name: 'Payments' }).click();
  await heading(ada, 'Payments is down').waitFor();
  await timeline(ada).getByText('Incident opened', { exact: true }).waitFor();
  await ada.getByRole('region', { name: 'Cause' }).getByRole('button', { name: 'Response' }).click();
  await ada.getByText('upstream is out of order').waitFor();

  await open(bob, new URL(ada.url()).pathname);
  await ada.getByRole('button', { name: 'Acknowledge' }).press('Enter');
  await bob.getByText('Acknowledged by Ada Byron, just now').waitFor();
  await bob.getByRole('button', { name: 'Take over' }).click();
  const dialog = bob.getByRole('dialog', { name: 'Take over from Ada Byron?' });
  await dialog.getByText('Ada Byron is working on this incident.').waitFor();
  await dialog.getByRole('button', { name: 'Take over' }).click();
  await ada.getByText('Acknowledged by Bob, just now').waitFor();

  const note = ada.getByRole('textbox', { name: 'New note' });
  await note.fill(
    'The <script>document.title = "harmed"</script>disk is **full**. [Do not](javascript:alert(1)) but [read](https://runbooks.example/)![](https://spy.example/x.png)',
  );
  await note.press('Control+Enter');
  await timeline(bob).locator('strong', { hasText: 'full' }).waitFor();
  const written = timeline(bob).locator('[data-kind="note"]');
  expect(await written.getByRole('link').count()).toBe(1);
  const link = written.getByRole('link', { name: 'read' });
  expect([await link.getAttribute('href'), await link.getAttribute('rel')]).toEqual([
    'https://runbooks.example/',
    'noopener noreferrer nofollow',
  ]);
  expect(await written.locator('script, img').count()).toBe(0);
  await written.getByText('<script>').waitFor();
  // Bob is a member, so he cannot change another user's note.
  expect(await bob.getByRole('button', { name: 'Edit note' }).count()).toBe(0);

  target.status = 200;
  await heading(bob, 'Payments was down').waitFor();
  await timeline(bob).getByText('Incident resolved', { exact: true }).waitFor();
  expect(await bob.getByRole('button', { name: /Acknowledge|acknowledgement|Take over/ }).count()).toBe(0);
  for (const { context, problems } of [ofAda, ofBob]) {
    await context.close();
    expect(problems).toEqual([]);
  }
});

test('many monitors are found by labels, labeled, assigned to a channel, put into maintenance and deleted', async () => {
  const owner = await signInOwner();
  const [{ context, problems }, page] = await openAs(dashboard, owner);
  await createMonitors(
    { dashboard, owner },
    { Web: { app: 'x', tier: 'web' }, Api: { app: 'x' }, Blog: { app: 'y' } },
  );
  const team = { name: 'Team', url: dashboard.receiver.url('/team'), monitorIds: [] };
  await owner.call('POST /api/dashboard/channels', { body: team });
  const filter = page.getByRole('combobox', { name: 'Filter by labels' });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const dialog = page.getByRole('dialog');
  const select = async (): Promise<void> => {
    await button('Select').click();
    await button('Select all 3').click();
  };

  await open(page, '/?order=name');
  await filter.fill('app in (x,y),tier!=web');
  await waitForNames(page, 'Api', 'Blog');
  await page.reload();
  await waitForNames(page, 'Api', 'Blog');
  expect(await filter.inputValue()).toBe('app in (x,y),tier!=web');
  await filter.fill('');
  await row(page, 'Web').waitFor();
  await page.getByRole('button', { name: 'app=x' }).first().click();
  await waitForNames(page, 'Api', 'Web');
  await filter.fill('app');
  await waitForNames(page, 'Api', 'Blog', 'Web');

  await select();
  await page.getByRole('checkbox', { name: 'Select Blog' }).uncheck();
  await button('Edit labels').click();
  const added = dialog.getByLabel('Add', { exact: true });
  await added.fill('bad label');
  await added.press('Enter');
  await dialog.getByText(/^bad label: the key must be/i).waitFor();
  await added.press('Backspace');
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
  await dialog.getByText('Changes 2 of 2 monitors. Replaces or removes tier=web (1).').waitFor();
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('Labels of 2 monitors changed.').waitFor();
  // Notifications appear below the navigation, where they cover no control.
  const toast = await page.getByText('Labels of 2 monitors changed.').boundingBox();
  expect((toast?.x ?? Infinity) + (toast?.width ?? 0)).toBeLessThan(230);
  const labels = async (): Promise<unknown[]> => {
    const { monitors } = await owner.call('GET /api/dashboard/monitors');
    return ['Web', 'Blog'].map((name) => monitors.find((monitor) => monitor.name === name)?.labels);
  };
  expect(await labels()).toEqual([{ app: 'x', team: 'a' }, { app: 'y' }]);
  await button('Undo').click();
  await page.getByText('Restored the labels of 2 monitors.').waitFor();
  expect(await labels()).toEqual([{ app: 'x', tier: 'web' }, { app: 'y' }]);

  await select();
  await button('Assign channels').click();
  const channels = dialog.getByLabel('Channels', { exact: true });
  await until('the field has the focus', () =>
    channels.evaluate((element) => element === document.activeElement),
  );
  await channels.press('ArrowDown');
  await page.getByRole('option', { name: 'Team' }).click();
  await page.getByRole('listbox').waitFor({ state: 'hidden' });
  await dialog.getByRole('button', { name: 'Assign' }).click();
  await page.getByText('3 monitors now alert Team.').waitFor();

  await select();
  await button('Plan maintenance').click();
  await heading(page, 'New maintenance window').waitFor();
  await field(page, 'Name').fill('Upgrade');
  const minuteAgo = new Date(Date.now() - 60_000).toISOString().slice(0, 16);
  await page.getByLabel(/^Starts/).fill(minuteAgo);
  await page.getByRole('button', { name: 'Create window' }).click();
  await heading(page, 'Upgrade').waitFor();
  await page.goto('/?selector=app&order=name');
  await until(
    'maintenance of all three',
    async () => (await page.getByRole('row').getByText('Maintenance', { exact: true }).count()) === 3,
  );

  await select();
  await page.getByRole('checkbox', { name: 'Select Blog' }).uncheck();
  await button('Delete').click();
  const confirm = dialog.getByRole('button', { name: 'Delete 2 monitors' });
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByRole('textbox').fill('2');
  await confirm.click();
  await page.getByText('2 monitors were deleted.').waitFor();
  await waitForNames(page, 'Blog');
  await context.close();
  expect(problems).toEqual([]);
});

test('a user does everything with the keyboard: a monitor, an incident, maintenance, a key and the palette', async () => {
  const owner = await signInOwner();
  const target = await startTarget();
  const { context, problems } = await openContext(dashboard.browser, {
    viewport: { width: 1_280, height: 900 },
  });
  const page = await context.newPage();
  const keyboard = useKeyboard(page);
  const search = 'Search monitors, pages and actions';
  const fill = async (texts: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, text] of Object.entries(texts)) {
      await keyboard.reach(name);
      await keyboard.type(text);
    }
  };
  /** Activates a control, after which the focus is on the heading of the next page. */
  const activate = async (name: string, next: string): Promise<void> => {
    await keyboard.reach(name);
    await keyboard.press('Enter');
    await keyboard.landsOn(next, 'h1');
  };
  /** Opens a page by the navigation, which is before its heading. */
  const openPage = async (name: string): Promise<void> => {
    await keyboard.reachBack(new RegExp(`^${name}`), 'a');
    await keyboard.press('Enter');
    await keyboard.landsOn(name, 'h1');
  };

  await page.goto('/');
  await heading(page, 'Sign in').waitFor();
  await fill({ 'Email address': OWNER.email, Password: 'not the password' });
  await keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  await keyboard.reachBack('Password');
  await keyboard.type(OWNER.password);
  await keyboard.press('Enter');
  // Signing in loads the page anew.
  await heading(page, 'Monitors').waitFor();
  await keyboard.press('Tab');
  expect(await keyboard.focused()).toMatchObject({ name: 'Skip to content', isVisible: true });
  await keyboard.press('Enter');

  await activate('New monitor', 'New monitor');
  await fill({ Name: 'Bank', URL: target.url('/'), 'Interval (seconds)': '5', 'Timeout (seconds)': '60' });
  await activate('Create monitor', 'Bank');
  await activate('Edit', 'Edit Bank');
  await fill({ Name: 'Typed' });
  await keyboard.reach('Cancel');
  await keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
  await keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await keyboard.landsOn('Cancel');
  await keyboard.press('Enter');
  await activate('Leave', 'Bank');
  const { monitors } = await owner.call('GET /api/dashboard/monitors');
  expect(monitors.map(({ name }) => name)).toEqual(expect.arrayContaining(['Bank', 'Shop']));

  await openPage('Monitors');
  await keyboard.press('/', 'Control+k');
  await keyboard.landsOn(search);
  await keyboard.press('Escape');
  await keyboard.landsOn('Search monitors');
  await keyboard.type('Bank');
  await page.getByRole('link', { name: 'Shop' }).waitFor({ state: 'detached' });
  target.status = 503;
  await keyboard.reach('Bank', 'a');
  await keyboard.press('Enter');
  await keyboard.landsOn('Bank', 'h1');
  await openPage('Incidents');
  await page.getByRole('main').getByRole('link', { name: 'Bank' }).waitFor();
  await activate('Bank', 'Bank is down');
  await keyboard.reach('Acknowledge');
  await keyboard.press('Enter');
  await keyboard.landsOn('Remove acknowledgement');

  await openPage('Maintenance');
  await activate('New window', 'New maintenance window');
  await fill({ Name: 'Move', Monitors: 'Bank' });
  await page.getByRole('option', { name: 'Bank' }).waitFor();
  await keyboard.press('Enter');
  await page.getByText(/^1 of .* selected/).waitFor();
  await activate('Create window', 'Move');

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
  await row(page, 'CI').waitFor({ state: 'detached' });
  await keyboard.landsOn('API keys', 'h1');

  await keyboard.press('Control+k');
  await keyboard.landsOn(search);
  await keyboard.type('Profile');
  await keyboard.press('Enter');
  await keyboard.landsOn('Profile and sessions', 'h1');
  await keyboard.reachBack('Your profile');
  await keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
  await keyboard.reachBelow('Sign out');
  await keyboard.press('Enter');
  await heading(page, 'Sign in').waitFor();
  await context.close();
  expect(problems).toEqual([]);
});
