import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { documentTime, findViolations, openContext, type WatchedContext } from '@tocsin/browser/browser';
import {
  acceptInvitation,
  createDashboardSystem,
  type DashboardSystem,
  type DashboardUser,
  OWNER,
} from '@tocsin/browser/dashboard-system';
import { until } from '@tocsin/embedded/testing/until';
import type { Locator, Page } from 'playwright-core';

const MEMBER = { name: 'Bob', email: 'bob@example.com', password: 'another horse battery' };

let dashboard: DashboardSystem;
let owner: DashboardUser;
let member: DashboardUser;
let watched: WatchedContext;
let page: Page;
let invitation: { readonly token: string; readonly url: string };

beforeAll(async () => {
  dashboard = await createDashboardSystem();
  owner = await dashboard.createOwner();
  invitation = await owner.call('POST /api/dashboard/invitations', {
    body: { role: 'member', email: MEMBER.email },
  });
  member = await acceptInvitation(dashboard.api.port, invitation.token, MEMBER);
  watched = await openContext(dashboard.browser, { viewport: { width: 1_280, height: 900 } });
  page = await watched.context.newPage();
});
afterAll(async () => {
  await dashboard.close();
  // Failed requests are part of these tests.
  expect(watched.problems.filter((problem) => problem.includes('Content-Security-Policy'))).toEqual([]);
});

const heading = (name: string): Locator => page.getByRole('heading', { level: 1, name });
const field = (name: string, where: Page | Locator = page): Locator =>
  where.getByRole('textbox', { name, exact: true });
const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
const signInDialog = (): Locator => page.getByRole('dialog', { name: 'Sign in again' });

/** Ends the session, then clicks. A click of the mouse might be too late: another request may open the dialog before. */
async function clickAfterTheSession(button: Locator): Promise<void> {
  await watched.context.clearCookies();
  await button.evaluate((element: HTMLElement) => element.click());
}

async function signInAgain(user: typeof OWNER): Promise<void> {
  const dialog = signInDialog();
  await field('Email address', dialog).fill(user.email);
  await field('Password', dialog).fill(user.password);
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Closes the dialog that shows the secret of a new channel. */
async function storeSecret(): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/whsec_/).waitFor();
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
}

async function signedIn(): Promise<void> {
  await watched.context.clearCookies();
  await watched.context.addCookies(owner.cookies);
}

test('a link that does not work shows only what to do', async () => {
  for (const [path, message] of [
    ['/setup?token=unknown', /^If this installation has an owner, sign in, /],
    ['/setup', /^If this installation has an owner, sign in, /],
    [invitation.url, /was used, or has expired/],
    ['/invitation?token=unknown', /ask for a new one/],
  ] as const) {
    await page.goto(path);
    await heading('This link does not work').waitFor();
    await page.getByText(message).waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
  }
});

test('another loopback address is the same site, and any other address explains itself', async () => {
  await page.goto('http://127.0.0.1/');
  await heading('Sign in').waitFor();
  await field('Email address').fill(OWNER.email);
  await field('Password').fill(OWNER.password);
  await button('Sign in').click();
  await heading('Monitors').waitFor();

  await page.goto('http://wrong.localhost/sign-in');
  await page.getByText('PUBLIC_URL=http://wrong.localhost').waitFor();
  expect(await page.getByRole('textbox').count()).toBe(0);
  expect(await findViolations(page)).toEqual([]);
});

test('a path without a page has the landmarks, and the shell for a signed-in user', async () => {
  await page.goto('/nope');
  await heading('Not found').waitFor();
  for (const role of ['banner', 'main'] as const) expect(await page.getByRole(role).count()).toBe(1);
  expect(await page.getByRole('navigation').count()).toBe(0);
  await signedIn();
  await page.reload();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  for (const role of ['banner', 'main'] as const) expect(await page.getByRole(role).count()).toBe(1);
  expect(await page.title()).toBe('Not found · Tocsin');
});

test('a session that ends in mid-form is renewed in place', async () => {
  await page.goto('/channels/new');
  await field('Name').fill('On call');
  await field('URL').fill(dashboard.receiver.url('/hook'));
  const loadedAt = await documentTime(page);
  await clickAfterTheSession(button('Create channel'));
  await signInDialog().waitFor();
  expect(await page.getByText('Leave without saving?').count()).toBe(0);
  expect(await field('Email address', signInDialog()).inputValue()).toBe(OWNER.email);
  expect(await findViolations(page)).toEqual([]);

  await page.keyboard.press('Escape');
  await signInAgain(MEMBER);
  await signInDialog().getByText(`Signed in as ${MEMBER.email}`).waitFor();
  const { channels } = await owner.call('GET /api/dashboard/channels');
  expect(channels).toEqual([]);

  await signInAgain(OWNER);
  // The held request created the channel.
  await storeSecret();
  await heading('On call').waitFor();
  await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
  expect(await documentTime(page)).toBe(loadedAt);
});

test('a session that ends under a dialog keeps the dialog', async () => {
  await page.goto('/api-keys');
  await button('New API key').first().click();
  const form = page.getByRole('dialog', { name: 'New API key' });
  await field('Name', form).fill('CI');
  await clickAfterTheSession(form.getByRole('button', { name: 'Create' }));
  await signInDialog().waitFor();
  await page.keyboard.press('Escape');
  // The user signs in in another tab.
  await watched.context.addCookies(owner.cookies);
  await page.getByText(/^tocsin_live_/).waitFor();
});

test('who does not sign in again goes to the sign-in page', async () => {
  await page.goto('/channels/new');
  await field('Name').fill('Unsaved');
  await field('URL').fill(dashboard.receiver.url('/hook'));
  await clickAfterTheSession(button('Create channel'));
  await button('Leave this page without signing in').click();
  await heading('Sign in').waitFor();
  expect(new URL(page.url()).searchParams.get('from')).toBe('/channels/new');
  await signedIn();
});

test('an error of a long form is shown in view, with the focus on it', async () => {
  await page.setViewportSize({ width: 1_280, height: 500 });
  await page.goto('/monitors/new');
  await field('Name').fill('Shop');
  await field('URL').fill(dashboard.target.url('/'));
  const path = '**/api/dashboard/monitors';
  await page.route(path, (route) => (route.request().method() === 'POST' ? route.abort() : route.continue()));
  await button('Create monitor').click();
  const alert = page.getByRole('alert').filter({ hasText: 'No connection' });
  await alert.waitFor();
  await until('the error has the focus', () =>
    alert.evaluate((element) => element.parentElement === document.activeElement),
  );
  const box = await alert.boundingBox();
  expect(box !== null && box.y >= 56 && box.y + box.height <= 500).toBe(true);
  await page.unroute(path);
  await page.setViewportSize({ width: 1_280, height: 900 });
});

test('a page that was not visited before the server went down loads when it is back', async () => {
  await page.goto('/');
  await heading('Monitors').waitFor();
  await watched.context.setOffline(true);
  await page.getByRole('navigation').getByRole('link', { name: 'Regions' }).click();
  await page.getByText(/^Tocsin is unreachable, and this page/).waitFor();
  await heading('This page could not be opened').waitFor();
  await watched.context.setOffline(false);
  await heading('Regions').waitFor();
});

test('a page that is missing on the server reloads the document once', async () => {
  let loads = 0;
  page.on('domcontentloaded', () => (loads += 1));
  await page.route('**/assets/people-page*', (route) => route.fulfill({ status: 404 }));
  await page.getByRole('navigation').getByRole('link', { name: 'People' }).click();
  await page.getByText(/^A part of Tocsin is missing/).waitFor();
  expect(loads).toBe(1);
  await page.unroute('**/assets/people-page*');
  await button('Reload').click();
  await heading('People').waitFor();
});

test('the palette finds pages, monitors and actions by keyboard', async () => {
  await signedIn();
  const { monitor } = await owner.call('POST /api/dashboard/monitors', {
    body: { name: 'Payments', url: dashboard.target.url('/pay'), labels: { team: 'money' } },
  });
  await page.goto('/incidents');
  await heading('Incidents').waitFor();
  await page.keyboard.press('Control+k');
  const search = page.getByRole('combobox', { name: 'Search monitors, pages and actions' });
  await search.fill('money');
  const option = page.getByRole('option', { name: /^Payments/ });
  await option.and(page.locator('[aria-selected="true"]')).waitFor();
  expect(await search.getAttribute('aria-activedescendant')).toBe(await option.getAttribute('id'));
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await heading('Payments').waitFor();
  expect(new URL(page.url()).pathname).toBe(`/monitors/${monitor.id}`);

  await button('Search').click();
  await search.fill('new win');
  await page.keyboard.press('Enter');
  await heading('New maintenance window').waitFor();
  await search.waitFor({ state: 'detached' });
  // In a field, the slash is text.
  await field('Name').fill('a');
  await field('Name').press('/');
  expect(await field('Name').inputValue()).toBe('a/');
  await field('Name').press('Control+k');
  await search.fill('dark light');
  await page.getByRole('option', { name: 'Dark colors' }).waitFor();
  await search.fill('reference');
  await page.getByRole('option', { name: 'API reference' }).waitFor();
  await page.keyboard.press('Escape');
  await search.waitFor({ state: 'detached' });
  await until('the field has the focus again', () =>
    field('Name').evaluate((element) => element === document.activeElement),
  );
  await field('Name').fill('');
  await page.goto('/');
  await heading('Monitors').waitFor();
  const list = page.getByLabel('Search monitors');
  await list.waitFor();
  await until('the search of the list has the focus', async () => {
    await page.keyboard.press('/');
    return list.evaluate((element) => element === document.activeElement);
  });
  await owner.call('DELETE /api/dashboard/monitors/:id', { id: monitor.id });
});

test('a form of one user is not saved as another who signs in in another tab', async () => {
  const signedInAs = (tab: Page): Locator =>
    tab.getByRole('dialog', { name: 'Sign in again' }).getByText(`Signed in as ${MEMBER.email}`);
  await signedIn();
  await page.goto('/channels/new');
  await field('Name').fill('Of Ada');
  await field('URL').fill(dashboard.receiver.url('/hook'));
  const idle = await watched.context.newPage();
  await idle.goto('/incidents');
  await idle.getByRole('status').getByText('Live', { exact: true }).waitFor();
  const tab = await watched.context.newPage();
  await tab.goto('/');
  await tab.getByRole('button', { name: 'Account' }).click();
  await tab.getByRole('menuitem', { name: 'Sign out' }).click();
  await field('Email address', tab).fill(MEMBER.email);
  await field('Password', tab).fill(MEMBER.password);
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
  await tab.getByRole('heading', { level: 1, name: 'Monitors' }).waitFor();

  await button('Create channel').evaluate((element: HTMLElement) => element.click());
  await signedInAs(page).waitFor();
  // The stream ends with the session.
  await signedInAs(idle).waitFor();
  const { channels } = await member.call('GET /api/dashboard/channels');
  expect(channels.map(({ name }) => name)).not.toContain('Of Ada');

  await signInAgain(OWNER);
  await storeSecret();
  await heading('Of Ada').waitFor();
  await signedInAs(idle).waitFor({ state: 'detached' });
  await Promise.all([idle.close(), tab.close()]);
});
