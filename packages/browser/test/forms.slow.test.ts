import { beforeAll, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import type { Locator } from 'playwright-core';
import { createMonitors, field, heading, open, openAs, useDashboard } from './harness.ts';

const used = useDashboard();

beforeAll(async () => {
  const { system } = used.dashboard;
  await Promise.all(
    [system.service('checker', { REGION: 'default' }), system.service('notifier')].map((one) => one.start()),
  );
});

const isInvalid = async (control: Locator): Promise<boolean> =>
  (await control.getAttribute('aria-invalid')) === 'true';

/** Waits until a field that is invalid has the focus. */
async function untilRefused(page = used.page): Promise<void> {
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true');
}

test('the form of a maintenance window shows errors in the schedule, and the effect of clock changes', async () => {
  const { page, owner } = used;
  await open(page, '/maintenance/new');
  await field(page, 'Name').fill('Upgrade');
  await page.getByRole('radio', { name: /^All monitors/ }).check();
  const duration = field(page, 'Duration');
  await duration.fill('banana');
  await field(page, 'Name').focus();
  await page.getByText(/^Enter a duration, such as 90 min/).waitFor();
  await page.getByText('Correct the fields with errors to update the occurrences.').waitFor();
  expect(await duration.inputValue()).toBe('banana');
  await page.getByRole('button', { name: 'Create window' }).click();
  await untilRefused();
  expect((await owner.call('GET /api/dashboard/maintenance-windows')).maintenanceWindows).toEqual([]);

  await page.getByLabel(/^Starts/).fill('2027-03-21T01:30');
  await duration.fill('3 d');
  const repeats = page.getByRole('combobox', { name: 'Repeats' });
  const choose = async (name: string): Promise<void> => {
    await repeats.click();
    await page.getByRole('option', { name }).click();
  };
  await choose('Daily');
  await page
    .getByText(/^Each occurrence must end before the next one starts: use .* at most 1 d\.$/)
    .waitFor();
  expect([await isInvalid(duration), await isInvalid(repeats)]).toEqual([true, false]);
  await duration.fill('1:30');
  await field(page, 'Name').focus();
  expect(await duration.inputValue()).toBe('1 h 30 min');
  expect(await page.getByLabel(/^Ends/).inputValue()).toBe('2027-03-21T03:00');

  const zone = page.getByRole('combobox', { name: 'Time zone' });
  await zone.click();
  // Typing replaces the zone.
  await zone.pressSequentially('london');
  await page.getByRole('option').filter({ hasText: 'Europe/London' }).first().waitFor();
  expect(await zone.inputValue()).toBe('london');
  await zone.press('Enter');
  await choose('Weekly');
  await page
    .getByText('On 28 March 2027, 01:30 does not exist in Europe/London: the clocks go forward.')
    .waitFor();
  await page.getByText(/^On 31 October 2027, 01:30 occurs twice in Europe\/London/).waitFor();
});

test('the occurrences of a rule are previewed, and stay while the server is unavailable', async () => {
  // Chromium logs the failed requests of the preview as problems.
  const [{ context }, page] = await openAs(used.dashboard, used.owner);
  await open(page, '/maintenance/new');
  const starts = page.getByRole('table', { name: 'Occurrences' }).locator('tbody tr');
  await until('one occurrence', async () => (await starts.count()) === 1);
  await page.getByRole('combobox', { name: 'Repeats' }).click();
  await page.getByRole('option', { name: 'Custom rule (RRULE)' }).click();
  const rule = field(page, 'Rule');
  await rule.fill('FREQ=NEVER');
  await page.getByText(/^FREQ must be/i).waitFor();
  await rule.fill('FREQ=DAILY');
  await until('five occurrences', async () => (await starts.count()) === 5);
  const preview = '**/api/dashboard/maintenance-windows/preview';
  await page.route(preview, (route) => route.fulfill({ status: 503, body: '' }));
  await rule.fill('FREQ=DAILY;COUNT=2');
  await page.getByRole('alert').waitFor();
  expect(await starts.count()).toBe(5);
  await page.unroute(preview);
  await until('two occurrences', async () => (await starts.count()) === 2);
  await context.close();
});

test('a channel selects monitors by their labels, and shows which', async () => {
  const { page, dashboard, owner } = used;
  await createMonitors(used, { Web: { app: 'web' }, Docs: { app: 'docs' } });
  await open(page, '/channels/new');
  await field(page, 'Name').fill('Web team');
  await field(page, 'URL').fill(dashboard.receiver.url('/web'));
  await page.getByRole('radio', { name: 'Selected monitors' }).check();
  const selector = page.getByRole('textbox', { name: 'Label selector' });
  await selector.fill('app=');
  await page.getByText('Matches no monitors yet.').waitFor();
  await selector.fill('app in (');
  await page.getByText(/ends too early/).waitFor();
  await selector.fill('app in (web,docs)');
  await page.getByText(/^Matches 2 monitors: /).waitFor();
  await page.getByRole('checkbox', { name: 'Maintenance started' }).uncheck();
  await page.getByRole('button', { name: 'Create channel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
  await heading(page, 'Web team').waitFor();
  await page.getByRole('main').getByText('2 monitors').first().waitFor();
  const { channels } = await owner.call('GET /api/dashboard/channels');
  expect(channels).toMatchObject([
    {
      selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'docs'] }] },
      allMonitors: false,
      events: ['monitor.down', 'monitor.up', 'incident.created', 'incident.resolved'],
    },
  ]);
  await page.getByRole('button', { name: 'Edit' }).click();
  expect(await selector.inputValue()).toBe('app in (web,docs)');
  await page.getByRole('radio', { name: /^All monitors/ }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('main').getByText('All monitors').first().waitFor();
});

test('disabling a channel asks first, and its held alerts are sent or discarded where it is enabled', async () => {
  const { page, owner, dashboard } = used;
  const body = { name: 'On call', url: dashboard.receiver.url('/held'), monitorIds: [] };
  const { id } = (await owner.call('POST /api/dashboard/channels', { body })).channel;
  const hold = (count: number) =>
    dashboard.system.database.pool.query(
      `insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state, next_attempt_at)
       select gen_random_uuid(), account_id, id, gen_random_uuid(), gen_random_uuid(), 'monitor.down', now(), '{}', 'held', null
       from channels, generate_series(1, $2::int) where id = $1`,
      [id, count],
    );
  const dialog = page.getByRole('dialog');
  await open(page, `/channels/${id}`);
  await page.getByRole('button', { name: 'Disable' }).click();
  await dialog.getByText(/are held\./).waitFor();
  await dialog.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('Disabled manually').first().waitFor();

  await hold(2);
  await page.reload();
  const held = page.getByRole('alert').filter({ hasText: '2 held alerts' });
  await held.getByText(/Enable the channel to send them\./).waitFor();
  await page.getByRole('button', { name: 'Enable', exact: true }).click();
  await held.getByRole('button', { name: 'Send 2 held alerts' }).click();
  await page.getByText('2 deliveries will be sent again.').waitFor();
  const { received } = dashboard.receiver;
  await until('both alerts', () => received.filter(({ path }) => path === '/held').length >= 2);
  await held.waitFor({ state: 'detached' });

  await hold(3);
  await page.reload();
  const others = page.getByRole('alert').filter({ hasText: '3 held alerts' });
  await others.getByRole('button', { name: 'Discard' }).click();
  await dialog.getByRole('button', { name: 'Discard' }).click();
  await others.waitFor({ state: 'detached' });
  const options = { id, query: { state: 'failed' } } as const;
  const { deliveries } = await owner.call('GET /api/dashboard/channels/:id/deliveries', options);
  expect(deliveries).toHaveLength(3);
});

test('a monitor is tested before it is saved, its channels are chosen with it, and a copy keeps them', async () => {
  const { page, owner, dashboard } = used;
  const url = dashboard.receiver.url('/picked');
  for (const body of [
    { name: 'Shop team', url, monitorIds: [], selector: { matchLabels: { app: 'shop' } } },
    { name: 'Pager', url, monitorIds: [] },
  ])
    await owner.call('POST /api/dashboard/channels', { body });
  await open(page, '/monitors/new');
  const region = page.getByRole('region', { name: 'Test' });
  const run = region.getByRole('button', { name: 'Run a check' });
  await run.click();
  await untilRefused();

  /** On a busy machine, the checker can miss the deadline, so run it again. */
  const runUntil = (status: string): Promise<boolean> =>
    until(`a check that is ${status}`, async () => {
      if (await region.getByText(status, { exact: true }).isVisible()) return true;
      if (await run.isEnabled()) await run.click();
      return false;
    });
  await field(page, 'URL').fill(dashboard.broken.url('/health'));
  // No check of a busy machine exceeds this timeout.
  await page.getByLabel('Timeout (seconds)').fill('60');
  await runUntil('Down');
  await region.getByText('Expected a status from 200 to 399, got 503', { exact: true }).waitFor();
  await field(page, 'URL').fill(dashboard.target.url('/health'));
  await region.getByText('The settings have changed since this check. Run it again.').waitFor();
  await runUntil('Up');

  const channels = page.getByRole('group', { name: 'Channels' });
  const team = channels.getByRole('checkbox', { name: 'Shop team' });
  expect(await team.isChecked()).toBe(false);
  await page.getByRole('combobox', { name: 'Labels' }).fill('app=shop');
  await page.getByRole('combobox', { name: 'Labels' }).press('Enter');
  await channels.getByText('Matches app=shop').waitFor();
  expect([await team.isChecked(), await team.isDisabled()]).toEqual([true, true]);
  await channels.getByRole('checkbox', { name: 'Pager' }).check();
  await field(page, 'Name').fill('Shop');
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await heading(page, 'Shop').waitFor();

  await page.getByRole('link', { name: 'Clone' }).click();
  await page.getByText('A copy of Shop.').waitFor();
  expect(await field(page, 'Name').inputValue()).toBe('Copy of Shop');
  expect(await page.getByRole('checkbox', { name: 'Pager' }).isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Create monitor' }).click();
  await heading(page, 'Copy of Shop').waitFor();
  const { channels: stored } = await owner.call('GET /api/dashboard/channels');
  expect(stored.find(({ name }) => name === 'Pager')?.monitorIds).toHaveLength(2);
});

test('a field that the server refuses has the focus, and its error is shown once', async () => {
  // Chromium logs the refused requests as problems.
  const [{ context }, page] = await openAs(used.dashboard, used.owner);
  await open(page, '/channels/new');
  await field(page, 'Name').fill('Chat');
  await field(page, 'URL').fill(used.dashboard.receiver.url('/chat'));
  await page.getByRole('combobox', { name: 'Format' }).selectOption('custom');
  await field(page, 'Template').fill('{ "text": {{ monitorName }} }');
  await page.getByRole('button', { name: 'Create channel' }).click();
  await untilRefused(page);
  expect(await page.getByText('The request is not valid').count()).toBe(0);

  await open(page, '/monitors/new');
  await field(page, 'URL').fill(used.dashboard.target.url());
  await page.getByRole('button', { name: 'Add JSON condition' }).click();
  await field(page, 'Path of JSON condition 1').fill('$.[');
  await field(page, 'Value of JSON condition 1').fill('ok');
  await page.getByRole('button', { name: 'Run a check' }).click();
  await untilRefused(page);
  await context.close();
});

test('an error of a long form is shown in view, with the focus on it', async () => {
  // Chromium logs the failed request as a problem.
  const viewport = { width: 1_280, height: 500 };
  const [{ context }, page] = await openAs(used.dashboard, used.owner, { viewport });
  await page.goto('/monitors/new');
  await field(page, 'Name').fill('Shop');
  await field(page, 'URL').fill(used.dashboard.target.url('/'));
  await page.route('**/api/dashboard/monitors', (route) =>
    route.request().method() === 'POST' ? route.abort() : route.continue(),
  );
  await page.getByRole('button', { name: 'Create monitor' }).click();
  const alert = page.getByRole('alert').filter({ hasText: 'No connection' });
  await until('the error has the focus', () =>
    alert.evaluate((element) => element.parentElement === document.activeElement),
  );
  const box = await alert.boundingBox();
  expect(box !== null && box.y >= 56 && box.y + box.height <= 500).toBe(true);
  await context.close();
});
