import { beforeAll, expect, test } from '@jest/globals';
import { settle } from '@tocsin/browser/browser';
import { until } from '@tocsin/embedded/testing/until';
import type { Page } from 'playwright-core';
import { heading, open, openAs, row, useDashboard } from './harness.ts';

const used = useDashboard();
const ids = new Map<string, string>();
const query = (statement: string) => used.dashboard.system.database.pool.query(statement);

beforeAll(async () => {
  const { dashboard, owner } = used;
  dashboard.broken.body = '<b id="injected">Out of order</b>';
  for (const [name, target, regions] of [
    ['Resolver', dashboard.target, []],
    ['Mirror', dashboard.target, []],
    ['Elsewhere', dashboard.target, ['us-east']],
    ['Shop', dashboard.broken, []],
  ] as const) {
    // The first event of Shop, which keeps the response, must stay among the latest events.
    const interval = name === 'Shop' ? 60 : 5;
    // No check of a busy machine exceeds this timeout.
    const body = { name, url: target.url('/'), regions: [...regions], interval, timeout: 60 };
    ids.set(name, (await owner.call('POST /api/dashboard/monitors', { body })).monitor.id);
  }
  await dashboard.system.service('checker', { REGION: 'default' }).start();
  await dashboard.system.untilStatus(ids.get('Shop') ?? '', 'DOWN');
});

test('canaries of a region are chosen among its monitors by keyboard', async () => {
  const { page } = used;
  await open(page, '/regions');
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
  await row(page, 'default').getByText('Connected', { exact: true }).waitFor();
});

test('every page names an isolated region until its network is back', async () => {
  const { page } = used;
  // This never expires, as if a checker kept renewing it.
  await query(
    `insert into region_isolations (account_id, region, checker_id, renewed_at)
     select account_id, 'default', gen_random_uuid(), 'infinity' from monitors limit 1`,
  );
  await open(page, '/incidents');
  const banner = page.getByText(/^Region default has had no network since/);
  await banner.waitFor();
  await page.getByRole('status').getByRole('link', { name: 'Regions' }).click();
  await heading(page, 'Regions').waitFor();
  await row(page, 'default').getByText('Isolated', { exact: true }).waitFor();
  await query('update region_isolations set ended_at = clock_timestamp()');
  await row(page, 'default').getByText('Connected', { exact: true }).waitFor();
  await banner.waitFor({ state: 'detached' });
});

test('an outage states its cause in words everywhere, and shows the kept response as text', async () => {
  const { page, dashboard, owner } = used;
  await open(page, '/');
  const cause = /Expected a status from 200 to 399, got 503/;
  await row(page, 'Shop').getByText(cause).waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Incidents' }).click();
  await page.getByRole('main').getByRole('listitem').filter({ hasText: 'Shop' }).getByText(cause).waitFor();
  await page.getByRole('link', { name: 'Shop' }).click();
  await page.getByRole('main').getByRole('link', { name: 'Open monitor' }).click();
  await page.getByRole('alert').getByText(cause).waitFor();

  const openResponse = async (where: Page): Promise<void> => {
    await row(where, '503').getByRole('button', { name: 'Details' }).last().click();
    const events = where.getByRole('region', { name: 'Latest events' });
    await events.getByRole('button', { name: 'Response', exact: true }).click();
  };
  await openResponse(page);
  const body = page.getByRole('group', { name: 'Response body' });
  expect(await body.innerText()).toBe(dashboard.broken.body);
  expect(await page.locator('#injected').count()).toBe(0);
  const headers = page.getByRole('group', { name: 'Response headers' });
  expect(await headers.innerText()).toContain('text/plain');

  // Chromium logs the failed request as a problem.
  const [{ context }, other] = await openAs(dashboard, owner);
  await other.route('**/response', (route) => route.fulfill({ status: 404, body: '' }));
  await open(other, `/monitors/${ids.get('Shop')}`);
  await openResponse(other);
  await other.getByText('The response is no longer kept.').waitFor();
  await context.close();
});

test('a note is folded, edited, deleted and not lost by a click, and a deleted incident says so', async () => {
  const { page, owner, watched } = used;
  await open(page, '/incidents');
  await page.getByRole('main').getByRole('link', { name: 'Shop' }).click();
  await heading(page, 'Shop is down').waitFor();
  const note = page.getByRole('textbox', { name: 'New note' });
  await note.fill('Half a thought');
  await page.getByRole('link', { name: 'Open monitor' }).click();
  await page.getByRole('button', { name: 'Keep editing' }).click();
  expect(await note.inputValue()).toBe('Half a thought');

  await note.fill(`${'One of many lines.\n'.repeat(40)}https://runbooks.example/disk.`);
  await page.getByRole('button', { name: 'Add note' }).click();
  const written = page.getByRole('region', { name: 'Timeline' }).locator('[data-kind="note"]');
  const all = written.getByRole('button', { name: 'Show all', expanded: false });
  const height = async (): Promise<number> => (await written.boundingBox())?.height ?? 0;
  await all.waitFor();
  const folded = await height();
  await all.press('Enter');
  const less = written.getByRole('button', { name: 'Show less', expanded: true });
  await less.waitFor();
  expect(await height()).toBeGreaterThan(folded);
  await less.press('Enter');
  await all.waitFor();
  // A link that gets the focus is never hidden.
  const link = written.getByRole('link');
  await until('the link after the button to have the focus', async () => {
    // The form that added the note may take the focus later.
    await written.getByRole('button', { name: /^Show/ }).focus();
    await page.keyboard.press('Tab');
    return link.evaluate((element) => element === document.activeElement);
  });
  await less.waitFor();

  await page.getByRole('button', { name: 'Edit note' }).press('Enter');
  await page.getByRole('textbox', { name: 'Edit note' }).fill('Freed some space.');
  await page.getByRole('button', { name: 'Save' }).click();
  await written.getByText('wrote (edited)').waitFor();
  await page.getByRole('button', { name: 'Delete note' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await written.waitFor({ state: 'detached' });
  expect(watched.problems).toEqual([]);

  const { pathname } = new URL(page.url());
  // Chromium logs a 404 response as a problem. An open page may reload its incident after the deletion.
  await page.close();
  await owner.call('DELETE /api/dashboard/monitors/:id', { id: ids.get('Shop') ?? '' });
  const [{ context }, other] = await openAs(used.dashboard, owner);
  await other.goto(pathname);
  await other.getByText('Incidents are deleted with their monitor').waitFor();
  await context.close();
});

test('an outage shows in the title, the icon and one notification of two hidden tabs', async () => {
  const { dashboard, owner } = used;
  // Only the two that are up remain.
  await query("delete from monitors where name = 'Shop'");
  const [{ context, problems }] = await openAs(dashboard, owner, { permissions: ['notifications'] });
  // Headless tabs are always visible, and show no notifications.
  await context.addInitScript(() => {
    const shown: string[] = [];
    let visibility = 'visible';
    Object.assign(globalThis, {
      shown,
      hide: () => {
        visibility = 'hidden';
        document.dispatchEvent(new Event('visibilitychange'));
      },
      Notification: class extends EventTarget {
        static permission = 'granted';
        static requestPermission(): Promise<string> {
          return Promise.resolve('granted');
        }
        constructor(title: string, { body }: { body: string }) {
          super();
          shown.push(`${title}: ${body}`);
          Object.assign(globalThis, { latest: this });
        }
        close(): void {}
      },
    });
    Object.defineProperty(document, 'visibilityState', { get: () => visibility });
  });
  const shownIn = (page: Page): Promise<string[]> =>
    page.evaluate(() => Reflect.get(globalThis, 'shown') as string[]);
  const iconOf = async (page: Page): Promise<string> =>
    decodeURIComponent((await page.locator('link[rel="icon"]').getAttribute('href')) ?? '');

  const [list, incidents] = [await context.newPage(), await context.newPage()];
  await list.goto('/');
  await list.getByRole('table', { name: 'Monitors' }).getByText('Up', { exact: true }).nth(1).waitFor();
  await incidents.goto('/profile');
  const notify = { name: 'Notify me about outages and recoveries' };
  await incidents.getByRole('switch', notify).click();
  // Notifications are on once the browser has granted permission.
  await incidents.getByRole('switch', { ...notify, checked: true }).waitFor();
  expect(await shownIn(incidents)).toEqual(['Notifications are on: Tocsin shows status changes here.']);
  await incidents.goto('/incidents');
  await settle(incidents);
  expect([await list.title(), await iconOf(list)]).toEqual(['Monitors · Tocsin', '/favicon.svg']);

  for (const page of [list, incidents])
    await page.evaluate(() => (Reflect.get(globalThis, 'hide') as () => void)());
  dashboard.target.status = 503;
  for (const page of [list, incidents]) {
    await page.waitForFunction(() => document.title.startsWith('(2) '));
    expect(await iconOf(page)).toContain('>2</text>');
  }
  const all = async (): Promise<string[]> => [...(await shownIn(list)), ...(await shownIn(incidents))];
  await until('a notification of both', async () =>
    (await all()).some((text) => text.startsWith('2 monitors down: ')),
  );
  // A wave may begin with one monitor, but only one of the tabs shows it.
  expect(await Promise.all([shownIn(list), shownIn(incidents)])).toContainEqual([]);
  const notifier = (await shownIn(list)).length > 0 ? list : incidents;
  await notifier.evaluate(() =>
    (Reflect.get(globalThis, 'latest') as EventTarget).dispatchEvent(new Event('click')),
  );
  await notifier.waitForURL(/\?status=DOWN$/);
  dashboard.target.status = 200;
  await list.waitForFunction(() => !document.title.startsWith('('));
  expect(await iconOf(list)).toBe('/favicon.svg');
  await context.close();
  expect(problems).toEqual([]);
});
