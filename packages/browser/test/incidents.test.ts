import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openContext, settle, type WatchedContext } from '@tocsin/browser/browser';
import {
  acceptInvitation,
  createDashboardSystem,
  type DashboardSystem,
  type DashboardUser,
} from '@tocsin/browser/dashboard-system';
import type { Locator, Page } from 'playwright-core';

let dashboard: DashboardSystem;
let owner: DashboardUser;
let ofOwner: WatchedContext;
let ofBob: WatchedContext;
let ada: Page;
let bob: Page;
let monitorId: string;

async function openAs(user: DashboardUser): Promise<[WatchedContext, Page]> {
  const watched = await openContext(dashboard.browser, { viewport: { width: 1_280, height: 900 } });
  await watched.context.addCookies(user.cookies);
  return [watched, await watched.context.newPage()];
}

beforeAll(async () => {
  dashboard = await createDashboardSystem();
  dashboard.broken.body = 'upstream is out of order';
  owner = await dashboard.createOwner();
  const { token } = await owner.call('POST /api/dashboard/invitations', { body: { role: 'member' } });
  const person = { name: 'Bob', email: 'bob@example.com', password: 'correct horse battery' };
  const member = await acceptInvitation(dashboard.api.port, token, person);
  const body = { name: 'Shop', url: dashboard.broken.url('/'), interval: 60, timeout: 60 };
  monitorId = (await owner.call('POST /api/dashboard/monitors', { body })).monitor.id;
  await dashboard.system.service('checker').start();
  [ofOwner, ada] = await openAs(owner);
  [ofBob, bob] = await openAs(member);
});
afterAll(() => dashboard.close());

const timeline = (page: Page): Locator => page.getByRole('region', { name: 'Timeline' });

async function takeOver(page: Page, from: string): Promise<void> {
  await page.getByRole('button', { name: 'Take over' }).click();
  const dialog = page.getByRole('dialog', { name: `Take over from ${from}?` });
  await dialog.getByText(`${from} is working on this incident.`).waitFor();
  await dialog.getByRole('button', { name: 'Take over' }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** Of a long note whose end is a link. */
async function checkFolding(page: Page): Promise<void> {
  const text = timeline(page).locator('[data-kind="note"]');
  const isFolded = async (): Promise<boolean> => ((await text.boundingBox())?.height ?? 0) < 600;
  const all = text.getByRole('button', { name: 'Show all', expanded: false });
  await all.waitFor();
  expect(await isFolded()).toBe(true);
  await all.focus();
  const scrolled = await page.evaluate(() => window.scrollY);
  await all.press('Enter');
  const less = text.getByRole('button', { name: 'Show less', expanded: true });
  await less.waitFor();
  expect(await isFolded()).toBe(false);
  expect(await page.evaluate(() => window.scrollY)).toBe(scrolled);
  await less.press('Enter');
  await all.waitFor();
  expect(await isFolded()).toBe(true);
  // A link that gets the focus is never hidden.
  await page.keyboard.press('Shift+Tab');
  await less.waitFor();
  expect(await text.getByRole('link').evaluate((link) => link === document.activeElement)).toBe(true);
  expect(await text.getByRole('link').getAttribute('href')).toBe('https://runbooks.example/disk');
}

test('an incident is acknowledged in one browser and seen in another, with notes that cannot do harm', async () => {
  await ada.goto('/incidents');
  await ada.getByRole('link', { name: 'Shop' }).click();
  await ada.getByRole('heading', { level: 1, name: 'Shop is down' }).waitFor();
  await settle(ada);
  await timeline(ada).getByText('Incident opened').waitFor();
  await timeline(ada)
    .getByText(/^Check failed in default: /)
    .waitFor();
  await ada.getByRole('region', { name: 'Cause' }).getByRole('button', { name: 'Response' }).click();
  await ada.getByText('upstream is out of order').waitFor();

  const { pathname } = new URL(ada.url());
  await bob.goto(pathname);
  await settle(bob);
  await ada.getByRole('button', { name: 'Acknowledge' }).press('Enter');
  await bob.getByText('Acknowledged by Ada Byron, just now').waitFor();
  await bob.waitForFunction(() => document.title.includes('acknowledged by Ada Byron'));
  await timeline(bob).getByText('Acknowledged by Ada Byron').waitFor();
  await takeOver(bob, 'Ada Byron');
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
  await expect(bob.title()).resolves.toContain('Shop is down');
  // Bob is a member: another's note is not his to change.
  expect(await bob.getByRole('button', { name: 'Edit note' }).count()).toBe(0);

  await ada.getByRole('button', { name: 'Edit note' }).press('Enter');
  const edited = ada.getByRole('textbox', { name: 'Edit note' });
  await edited.fill('Freed some space.');
  await ada.getByRole('button', { name: 'Save' }).click();
  await timeline(bob).getByText('Freed some space.').waitFor();
  await timeline(bob).getByText('wrote (edited)').waitFor();
  await ada.getByRole('button', { name: 'Delete note' }).click();
  await ada.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await timeline(bob).getByText('Freed some space.').waitFor({ state: 'detached' });

  await note.fill(`${'One of many lines.\n'.repeat(40)}https://runbooks.example/disk.`);
  await ada.getByRole('button', { name: 'Add note' }).click();
  await checkFolding(bob);

  // The lists show who works on it, and change without a reload.
  await bob.goto('/incidents');
  await bob.getByText('Acknowledged by Bob').waitFor();
  await takeOver(ada, 'Bob');
  await bob.getByText('Acknowledged by Ada Byron').waitFor();
  await bob.keyboard.press('Control+K');
  await bob.getByRole('combobox', { name: 'Search monitors, pages and actions' }).fill('incident shop');
  await bob.getByRole('option', { name: 'Incident: Shop' }).click();
  await bob.getByRole('heading', { level: 1, name: 'Shop is down' }).waitFor();
});

test('a draft is not lost by a click, and a resolved or deleted incident says so', async () => {
  await ada.getByRole('textbox', { name: 'New note' }).fill('Half a thought');
  await ada.getByRole('link', { name: 'Monitor', exact: true }).click();
  await ada.getByRole('button', { name: 'Keep editing' }).click();
  expect(await ada.getByRole('textbox', { name: 'New note' }).inputValue()).toBe('Half a thought');
  dashboard.broken.status = 200;
  await owner.call('POST /api/dashboard/monitors/:id/trigger', { id: monitorId });
  await ada.getByRole('heading', { level: 1, name: 'Shop was down' }).waitFor();
  await timeline(ada).getByText('Incident resolved').waitFor();
  await timeline(ada)
    .getByText(/^Check passed in default/)
    .waitFor();
  expect(await ada.getByRole('button', { name: /Acknowledge|acknowledgement|Take over/ }).count()).toBe(0);
  // The draft is still there, and can be saved.
  await ada.getByRole('button', { name: 'Add note' }).click();
  await timeline(ada).getByText('Half a thought').waitFor();
  expect(ofOwner.problems).toEqual([]);
  expect(ofBob.problems).toEqual([]);

  await owner.call('DELETE /api/dashboard/monitors/:id', { id: monitorId });
  await ada.reload();
  await ada.getByText('Incidents are deleted with their monitor').waitFor();
});
