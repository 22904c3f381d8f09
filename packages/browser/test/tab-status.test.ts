import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openContext, type WatchedContext } from '@tocsin/browser/browser';
import { createDashboardSystem, type DashboardSystem } from '@tocsin/browser/dashboard-system';
import { until } from '@tocsin/embedded/testing/until';
import type { Page } from 'playwright-core';

let dashboard: DashboardSystem;
let watched: WatchedContext;

beforeAll(async () => {
  dashboard = await createDashboardSystem();
  watched = await openContext(dashboard.browser, { permissions: ['notifications'] });
  const owner = await dashboard.createOwner();
  await watched.context.addCookies(owner.cookies);
  // Headless tabs are always visible, and show no notifications.
  await watched.context.addInitScript(() => {
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
  for (const name of ['Shop', 'Blog', 'Payments'])
    await owner.call('POST /api/dashboard/monitors', {
      body: { name, url: dashboard.target.url(`/${name}`), interval: 5, timeout: 60 },
    });
  await dashboard.system.service('checker', { REGION: 'default' }).start();
});
afterAll(() => dashboard.close());

const shownIn = (page: Page): Promise<string[]> =>
  page.evaluate(() => Reflect.get(globalThis, 'shown') as string[]);
const call = (page: Page, name: 'hide'): Promise<void> =>
  page.evaluate((key) => (Reflect.get(globalThis, key) as () => void)(), name);
const iconOf = async (page: Page): Promise<string> =>
  (await page.locator('link[rel="icon"]').getAttribute('href')) ?? '';

test('an outage shows in the title, the icon and one notification of two hidden tabs', async () => {
  const [list, incidents] = [await watched.context.newPage(), await watched.context.newPage()];
  await list.goto('/');
  await list.getByRole('table', { name: 'Monitors' }).getByText('Up', { exact: true }).nth(2).waitFor();
  await incidents.goto('/profile');
  await incidents.getByRole('switch', { name: 'Notify me about outages and recoveries' }).check();
  expect(await shownIn(incidents)).toEqual(['Notifications are on: Tocsin shows status changes here.']);
  await incidents.goto('/incidents');
  await incidents.getByText('No incidents yet').first().waitFor();
  expect([await list.title(), await iconOf(list)]).toEqual(['Monitors · Tocsin', '/favicon.svg']);

  for (const page of [list, incidents]) await call(page, 'hide');
  dashboard.target.status = 503;
  for (const page of [list, incidents]) {
    await page.waitForFunction(() => document.title.startsWith('(3) '));
    expect(decodeURIComponent(await iconOf(page))).toContain('>3</text>');
  }
  const all = async (): Promise<string[]> => [...(await shownIn(list)), ...(await shownIn(incidents))];
  await until('a notification of all three', async () =>
    (await all()).some((text) => text.startsWith('3 monitors down: ')),
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
  expect(watched.problems).toEqual([]);
});
