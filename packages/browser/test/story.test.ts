import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { documentTime, openContext, type WatchedContext } from '@tocsin/browser/browser';
import {
  acceptInvitation,
  createDashboardSystem,
  type DashboardSystem,
  OWNER,
} from '@tocsin/browser/dashboard-system';
import type { ReceivedWebhook } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import type { Locator, Page } from 'playwright-core';

const MONITOR = 'Shop';
const CHANNEL = 'On call';
const KEY = 'shop CI';

let dashboard: DashboardSystem;
let watched: WatchedContext;
/** Shows the list of monitors. Never reloaded after the sign-in. */
let page: Page;
/** Another tab of the same user. */
let incidents: Page;
let channelUrl: string;
let windowUrl: string;
let loadedAt: number;

beforeAll(async () => {
  dashboard = await createDashboardSystem();
  watched = await openContext(dashboard.browser, { viewport: { width: 1_280, height: 900 } });
  page = await watched.context.newPage();
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

const heading = (where: Page, name: string): Locator => where.getByRole('heading', { level: 1, name });
/** By its name, because the label of a required field has a mark. */
const field = (where: Page, name: string): Locator => where.getByRole('textbox', { name, exact: true });
const row = (name: string): Locator => page.getByRole('row').filter({ hasText: name });
/** The badge of the row. */
const status = (word: string): Locator => row(MONITOR).getByText(word, { exact: true });
const openPage = (name: string): Promise<void> =>
  page.getByRole('navigation').getByRole('link', { name }).click();

step('the setup link creates an owner and signs in', async () => {
  await page.goto(await dashboard.setupPath());
  await page.getByLabel('Your name').fill(OWNER.name);
  await page.getByLabel('Email address').fill(OWNER.email);
  await field(page, 'Password').fill(OWNER.password);
  await page.getByRole('button', { name: 'Create owner' }).click();
  await page.getByText('No monitors yet').waitFor();
});

step('a user can sign out and in again', async () => {
  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByText(OWNER.email).waitFor();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await heading(page, 'Sign in').waitFor();
  await page.goto('/');
  await heading(page, 'Sign in').waitFor();
  await page.getByLabel('Email address').fill(OWNER.email);
  await field(page, 'Password').fill('not the password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await field(page, 'Password').fill(OWNER.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await heading(page, 'Monitors').waitFor();
  loadedAt = await documentTime(page);
});

step('a new monitor goes up without a reload', async () => {
  await page.getByRole('link', { name: 'New monitor' }).click();
  await field(page, 'Name').fill(MONITOR);
  await field(page, 'URL').fill(dashboard.target.url('/health'));
  await page.getByRole('textbox', { name: 'Interval (seconds)', exact: true }).fill('5');
  // No check of a busy machine exceeds this timeout.
  await page.getByLabel('Timeout (seconds)').fill('60');
  await page.getByLabel('Runbook URL').fill('https://wiki.example.com/shop');
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await heading(page, MONITOR).waitFor();
  await openPage('Monitors');
  // No checker runs yet, so the status cannot change before the test looks.
  await status('Pending').waitFor();
  await dashboard.system.service('checker', { REGION: 'default' }).start();
  await status('Up').waitFor();
  expect(await documentTime(page)).toBe(loadedAt);
});

step('a new channel shows its secret once', async () => {
  await dashboard.system.service('notifier').start();
  await openPage('Channels');
  await page.getByRole('link', { name: 'New channel' }).first().click();
  await field(page, 'Name').fill(CHANNEL);
  await field(page, 'URL').fill(dashboard.receiver.url('/hook'));
  await page.getByRole('button', { name: 'Create channel' }).click();
  const secret = page.getByRole('dialog');
  await secret.getByText(/whsec_/).waitFor();
  await secret.getByRole('button', { name: 'I have stored it' }).click();
  await heading(page, CHANNEL).waitFor();
  const send = page.getByRole('button', { name: 'Send a test event' });
  await until('a response to a test event', async () => {
    if (await page.getByText('HTTP 200').isVisible()) return true;
    // On a busy machine, the notifier can miss the deadline: send it again.
    if (await send.isEnabled()) await send.click();
    return false;
  });
  expect(dashboard.receiver.received.length).toBeGreaterThan(0);
});

step('an outage and its incident appear without a reload', async () => {
  channelUrl = page.url();
  incidents = await watched.context.newPage();
  await incidents.goto('/incidents');
  await incidents.getByText('No incidents yet').first().waitFor();
  const incidentsLoadedAt = await documentTime(incidents);
  await openPage('Monitors');
  await status('Up').waitFor();

  dashboard.target.status = 503;
  await status('Down').waitFor();
  await page.getByLabel('1 open').waitFor();
  await incidents.getByRole('main').getByRole('link', { name: MONITOR }).waitFor();
  expect(await documentTime(incidents)).toBe(incidentsLoadedAt);
  expect(await documentTime(page)).toBe(loadedAt);
  await incidents.close();
});

step('the webhook is in the delivery log, and can be sent again', async () => {
  const downs = (): ReceivedWebhook[] =>
    dashboard.receiver.received.filter(
      ({ body }) => body.includes('"monitor.down"') && body.includes(MONITOR),
    );
  await until('the webhook', () => downs().length > 0);
  const channel = await watched.context.newPage();
  await channel.goto(channelUrl);
  // The test event is a `Monitor down` event, too.
  const entry = channel.getByRole('row').filter({ hasText: 'Monitor down' }).filter({ hasText: MONITOR });
  await entry.getByText('Delivered', { exact: true }).waitFor();
  await entry.getByRole('button', { name: 'Monitor down' }).click();
  const delivery = channel.getByRole('dialog');
  await delivery.getByText('HTTP 200').waitFor();
  // On a busy machine, an attempt can time out and be repeated, under the same id.
  const before = downs();
  expect(new Set(before.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  await delivery.getByRole('button', { name: 'Redeliver' }).click();
  await until('the same webhook again', () => downs().length > before.length);
  await delivery.getByText('2.', { exact: true }).waitFor();
  expect(new Set(downs().map(({ body }) => body)).size).toBe(1);
  await channel.close();
});

step('the form of a maintenance window previews its occurrences', async () => {
  const form = await watched.context.newPage();
  await form.goto('/maintenance/new');
  const starts = form.getByRole('table', { name: 'Occurrences' }).locator('tbody tr');
  await until('one occurrence', async () => (await starts.count()) === 1);
  await form.getByRole('combobox', { name: 'Repeats' }).click();
  await form.getByRole('option', { name: 'Custom rule (RRULE)' }).click();
  const rule = field(form, 'Rule');
  await rule.fill('FREQ=NEVER');
  await form.getByText(/^FREQ must be/i).waitFor();
  await rule.fill('FREQ=DAILY');
  await until('five occurrences', async () => (await starts.count()) === 5);

  const preview = '**/api/dashboard/maintenance-windows/preview';
  await form.route(preview, (route) => route.fulfill({ status: 503, body: '' }));
  await rule.fill('FREQ=DAILY;COUNT=2');
  await form.getByRole('alert').waitFor();
  // The last preview stays while the server is unavailable.
  expect(await starts.count()).toBe(5);
  await form.unroute(preview);
  await until('two occurrences', async () => (await starts.count()) === 2);
  await form.close({ runBeforeUnload: false });
});

step('a maintenance window covers the monitor', async () => {
  await row(MONITOR).getByRole('link', { name: MONITOR }).click();
  await heading(page, MONITOR).waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Maintenance', exact: true }).click();
  await heading(page, 'New maintenance window').waitFor();
  await planFromNow(page);
  windowUrl = page.url();
  await openPage('Monitors');
  await status('Maintenance').waitFor();
  expect(await documentTime(page)).toBe(loadedAt);
});

step('an API key works until it is deleted', async () => {
  await openPage('API keys');
  await page.getByRole('button', { name: 'New API key' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(KEY);
  await dialog.getByRole('button', { name: 'Create' }).click();
  const key = await dialog.getByLabel('the key', { exact: true }).innerText();
  expect(key).toMatch(/^tocsin_live_[0-9a-f]{48}$/);
  const list = (): Promise<Response> =>
    fetch(`http://127.0.0.1:${dashboard.api.port}/api/cli/monitors`, {
      headers: { Authorization: `Bearer ${key}` },
    });
  const response = await list();
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ monitors: [{ name: MONITOR, status: 'MAINTENANCE' }] });
  await dialog.getByRole('button', { name: 'Done' }).click();
  await dialog.waitFor({ state: 'detached' });

  await page.getByRole('button', { name: `Delete the key ${KEY}` }).click();
  const question = page.getByRole('dialog');
  expect(await question.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
  await question.getByLabel(`Type ${KEY} to confirm`).fill(KEY);
  await question.getByRole('button', { name: 'Delete' }).click();
  await row(KEY).waitFor({ state: 'detached' });
  expect((await list()).status).toBe(401);
  expect(await documentTime(page)).toBe(loadedAt);
});

step('removing a user revokes the keys that they created', async () => {
  const token = await page.evaluate(async () => {
    const response = await fetch('/api/dashboard/invitations', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"role":"member"}',
    });
    return ((await response.json()) as { token: string }).token;
  });
  const person = { name: 'Grace Hopper', email: 'grace@example.com', password: 'nanoseconds matter' };
  const grace = await acceptInvitation(dashboard.api.port, token, person);
  const names = ['CI', 'terraform'];
  const keys = await Promise.all(
    names.map((name) => grace.call('POST /api/dashboard/api-keys', { body: { name } })),
  );
  const list = await watched.context.newPage();
  await list.goto('/api-keys');
  for (const name of names) {
    const entry = list.getByRole('row').filter({ hasText: name });
    await entry.getByText('Grace Hopper', { exact: true }).waitFor();
  }
  await list.close();
  await openPage('People');
  await page.getByRole('button', { name: 'Remove Grace Hopper' }).click();
  const dialog = page.getByRole('dialog');
  const checkbox = dialog.getByRole('checkbox', { name: /^Revoke the 2 API keys that they created: / });
  expect(await checkbox.isChecked()).toBe(true);
  await dialog.getByLabel('Type Grace Hopper to confirm').fill('Grace Hopper');
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await row('Grace Hopper').waitFor({ state: 'detached' });
  for (const { key } of keys) {
    const response = await fetch(`http://127.0.0.1:${dashboard.api.port}/api/cli/monitors`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(401);
  }
  expect(await documentTime(page)).toBe(loadedAt);
});

step('after maintenance is ended early, the outage shows', async () => {
  // In a new tab, and reloaded after the end: an open page refreshes the state only now and then.
  const maintenance = await watched.context.newPage();
  await maintenance.goto(windowUrl);
  await maintenance.getByRole('button', { name: 'End now' }).click();
  await maintenance.getByRole('dialog').getByRole('button', { name: 'End now' }).click();
  await maintenance.getByRole('dialog').waitFor({ state: 'detached' });
  await openPage('Monitors');
  await status('Down').waitFor();
  expect(await documentTime(page)).toBe(loadedAt);
  await maintenance.reload();
  await maintenance.getByRole('main').getByText('Ended', { exact: true }).waitFor();
});

/** Creates a window that is running now. */
async function planFromNow(where: Page): Promise<void> {
  await field(where, 'Name').fill('Upgrade');
  await where.getByLabel(/^Starts/).fill(localTime(-60_000));
  await where.getByLabel(/^Ends/).fill(localTime(3_600_000));
  await where.getByRole('button', { name: 'Create window' }).click();
  await heading(where, 'Upgrade').waitFor();
}

/** The value of a date and time field, in the time zone of `openContext`. */
function localTime(fromNowMs: number): string {
  return new Date(Date.now() + fromNowMs).toISOString().slice(0, 16);
}

step('the API reference loads nothing from other hosts and needs no session', async () => {
  const stranger = await openContext(dashboard.browser);
  const docs = await stranger.context.newPage();
  await docs.goto('/docs');
  await docs.getByText('Create a monitor').first().waitFor();
  await stranger.context.close();
  // The bundle of the reference contains zod, which tests whether it may use eval and works without it.
  const evalProbe = 'console: Content-Security-Policy: script-src forbids eval';
  expect(stranger.problems.filter((problem) => problem !== evalProbe)).toEqual([]);
});
