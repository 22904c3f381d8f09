import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import {
  findViolations,
  openContext,
  settle,
  showScheme,
  type WatchedContext,
} from '@tocsin/browser/browser';
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
});
afterAll(() => dashboard.close());
afterEach(() => expect(watched.problems).toEqual([]));

const field = (name: string): Locator => page.getByRole('textbox', { name, exact: true });
const dialog = (): Locator => page.getByRole('dialog');

async function open(path: string): Promise<void> {
  await page.goto(path);
  await settle(page);
}

test('a duration that is not one stays as typed, with what is wrong, and nothing is saved', async () => {
  await open('/maintenance/new');
  await field('Name').fill('Upgrade');
  await page.getByRole('radio', { name: /^All monitors/ }).check();
  const duration = field('Duration');
  for (const [text, message] of [
    ['banana', /^Enter a duration, such as 90 min/],
    ['0', 'Must be at least 1 minute.'],
    ['400 d', 'Must be at most 30 days.'],
  ] as const) {
    await duration.fill(text);
    await field('Name').focus();
    await page.getByText(message).waitFor();
    await page.getByText('Correct the fields with errors to update the occurrences.').waitFor();
    expect(await duration.inputValue()).toBe(text);
  }
  await page.getByRole('button', { name: 'Create window' }).click();
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true');
  expect((await owner.call('GET /api/dashboard/maintenance-windows')).maintenanceWindows).toEqual([]);

  await page.getByLabel(/^Starts/).fill('2027-03-21T01:30');
  await duration.fill('1:30');
  await field('Name').focus();
  await page.getByText('Must be at most 30 days.').waitFor({ state: 'detached' });
  expect(await duration.inputValue()).toBe('1 h 30 min');
  expect(await page.getByLabel(/^Ends/).inputValue()).toBe('2027-03-21T03:00');
});

test('occurrences that overlap are an error of the duration', async () => {
  const repeats = page.getByRole('combobox', { name: 'Repeats' });
  const choose = async (name: string): Promise<void> => {
    await repeats.click();
    await page.getByRole('option', { name }).click();
  };
  await choose('Daily');
  await field('Duration').fill('3 d');
  await page
    .getByText('Each occurrence must end before the next one starts: use a duration of at most 1 d.')
    .waitFor();
  expect(await field('Duration').getAttribute('aria-invalid')).toBe('true');
  expect(await repeats.getAttribute('aria-invalid')).not.toBe('true');
  await field('Duration').fill('1:30');
  await choose('Does not repeat');
});

test('typing replaces the time zone, and finds cities, countries and offsets', async () => {
  const zone = page.getByRole('combobox', { name: 'Time zone' });
  const options = page.getByRole('option');
  for (const [text, found] of [
    ['Kolkata', 'Asia/Kolkata'],
    ['Calcutta', 'Asia/Kolkata'],
    ['India', 'Asia/Kolkata'],
    ['+5:30', 'Asia/Colombo'],
    ['london', 'Europe/London'],
  ] as const) {
    await zone.click();
    await zone.pressSequentially(text);
    await options.filter({ hasText: found }).first().waitFor();
    expect(await zone.inputValue()).toBe(text);
    await zone.press('Enter');
    await page.waitForFunction(
      ([name]) => document.activeElement instanceof HTMLInputElement && document.activeElement.value === name,
      [found] as const,
    );
    await field('Name').focus();
  }
});

test('the preview says on which days the clocks skip or repeat the start', async () => {
  await page.getByRole('combobox', { name: 'Repeats' }).click();
  await page.getByRole('option', { name: 'Weekly' }).click();
  await page
    .getByText('On 28 March 2027, 01:30 does not exist in Europe/London: the clocks go forward.')
    .waitFor();
  await page.getByText(/^On 31 October 2027, 01:30 occurs twice in Europe\/London/).waitFor();
  await page.getByRole('radio', { name: 'Selected monitors' }).check();
  await page.getByText('0 of at most 5,000 selected').waitFor();
  await page.getByText('For more, use a label selector or all monitors.').waitFor();
});

test('disabling a channel asks first, and its held alerts are sent or discarded where it is enabled', async () => {
  const { channel } = await owner.call('POST /api/dashboard/channels', {
    body: { name: 'On call', url: dashboard.receiver.url('/held'), monitorIds: [], allMonitors: true },
  });
  await open(`/channels/${channel.id}`);
  await page.getByRole('button', { name: 'Disable' }).click();
  await dialog()
    .getByText(/are held\./)
    .waitFor();
  await dialog().getByRole('button', { name: 'Cancel' }).click();
  await dialog().waitFor({ state: 'detached' });
  expect((await owner.call('GET /api/dashboard/channels')).channels).toMatchObject([{ enabled: true }]);
  await page.getByRole('button', { name: 'Disable' }).click();
  await dialog().getByRole('button', { name: 'Disable' }).click();
  await page.getByText('Disabled manually').first().waitFor();

  await hold(channel.id, 2);
  await page.reload();
  const held = page.getByRole('alert').filter({ hasText: '2 held alerts' });
  await held.getByText(/Enable the channel to send them\./).waitFor();
  await page.getByRole('button', { name: 'Enable', exact: true }).click();
  await held.getByRole('button', { name: 'Send 2 held alerts' }).click();
  await page.getByText('2 deliveries will be sent again.').waitFor();
  await held.waitFor({ state: 'detached' });

  await hold(channel.id, 3);
  await page.reload();
  const others = page.getByRole('alert').filter({ hasText: '3 held alerts' });
  await others.getByRole('button', { name: 'Discard' }).click();
  await dialog().getByRole('button', { name: 'Discard' }).click();
  await others.waitFor({ state: 'detached' });
  const { deliveries } = await owner.call('GET /api/dashboard/channels/:id/deliveries', {
    id: channel.id,
    query: { state: 'failed' },
  });
  expect(deliveries).toHaveLength(3);
});

test('a monitor is tested before it is saved, and its channels are chosen with it', async () => {
  await dashboard.system.service('checker', { REGION: 'default' }).start();
  await dashboard.system.service('notifier').start();
  const url = dashboard.receiver.url('/picked');
  for (const body of [
    { name: 'Shop team', url, monitorIds: [], selector: { matchLabels: { app: 'shop' } } },
    { name: 'Pager', url, monitorIds: [] },
  ])
    await owner.call('POST /api/dashboard/channels', { body });
  await open('/monitors/new');
  const test = page.getByRole('region', { name: 'Test' });
  const run = test.getByRole('button', { name: 'Run a check' });
  await run.click();
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true');
  expect((await owner.call('GET /api/dashboard/monitors')).monitors).toEqual([]);

  await field('URL').fill(dashboard.broken.url('/health'));
  // No check of a busy machine exceeds this timeout.
  await page.getByLabel('Timeout (seconds)').fill('60');
  await runUntil(test, run, 'Down');
  await test.getByText('Expected a status from 200 to 399, got 503', { exact: true }).waitFor();
  expect(await test.getByText('HTTP_503').count()).toBe(0);
  await field('URL').fill(dashboard.target.url('/health'));
  await test.getByText('The settings have changed since this check. Run it again.').waitFor();
  await runUntil(test, run, 'Up');
  await test.getByText('from default').waitFor();
  expect((await owner.call('GET /api/dashboard/monitors')).monitors).toEqual([]);

  const channels = page.getByRole('group', { name: 'Channels' });
  const team = channels.getByRole('checkbox', { name: 'Shop team' });
  expect(await team.isChecked()).toBe(false);
  await page.getByRole('combobox', { name: 'Labels' }).fill('app=shop');
  await page.getByRole('combobox', { name: 'Labels' }).press('Enter');
  await channels.getByText('Matches app=shop').waitFor();
  expect([await team.isChecked(), await team.isDisabled()]).toEqual([true, true]);
  await channels.getByText('All monitors').waitFor();
  await channels.getByRole('checkbox', { name: 'Pager' }).check();
  const send = channels.getByRole('button', { name: 'Send a test event to Pager' });
  await until('a response to a test event', async () => {
    if (await channels.getByText('Delivered').isVisible()) return true;
    // On a busy machine, the notifier can miss the deadline: send it again.
    if (await send.isEnabled()) await send.click();
    return false;
  });
  await field('Name').fill('Shop');
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.getByRole('heading', { level: 1, name: 'Shop' }).waitFor();
});

test('a copy of a monitor has its settings and channels, and another name', async () => {
  const { monitors } = await owner.call('GET /api/dashboard/monitors');
  const id = monitors[0]?.id ?? '';
  await open(`/monitors/${id}`);
  await page.getByRole('link', { name: 'Clone' }).click();
  await page.waitForURL(`/monitors/new?from=${id}`);
  await page.getByText('A copy of Shop.').waitFor();
  expect(await field('Name').inputValue()).toBe('Copy of Shop');
  expect(await page.getByRole('checkbox', { name: 'Pager' }).isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await page.getByRole('heading', { level: 1, name: 'Copy of Shop' }).waitFor();
  const { channels } = await owner.call('GET /api/dashboard/channels');
  expect(channels.find(({ name }) => name === 'Pager')?.monitorIds).toHaveLength(2);
});

test('a link in the notice of an outage differs from the words around it, in both color schemes', async () => {
  const { monitor } = await owner.call('POST /api/dashboard/monitors', {
    body: { name: 'Without runbook', url: dashboard.broken.url('/health') },
  });
  await open(`/monitors/${monitor.id}`);
  await page.getByText('No runbook.').waitFor();
  for (const scheme of ['light', 'dark'] as const) {
    await showScheme(page, scheme);
    expect(await findViolations(page, ['link-in-text-block', 'color-contrast'])).toEqual([]);
  }
});

/** On a busy machine, the checker can miss the deadline: run it again. */
async function runUntil(test: Locator, run: Locator, status: string): Promise<void> {
  await until(`a check that is ${status}`, async () => {
    if (await test.getByText(status, { exact: true }).isVisible()) return true;
    if (await run.isEnabled()) await run.click();
    return false;
  });
}

/** Adds deliveries that a channel holds. */
async function hold(channelId: string, count: number): Promise<void> {
  await dashboard.system.database.pool.query(
    `insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state, next_attempt_at)
     select gen_random_uuid(), account_id, id, gen_random_uuid(), gen_random_uuid(), 'monitor.down', now(), '{}', 'held', null
     from channels, generate_series(1, $2::int) where id = $1`,
    [channelId, count],
  );
}
