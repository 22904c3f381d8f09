import { beforeAll, describe, expect, test } from '@jest/globals';
import { documentTime, findViolations, openContext } from '@tocsin/browser/browser';
import { type DashboardUser, OWNER, signIn } from '@tocsin/browser/dashboard-system';
import type { Locator, Page } from 'playwright-core';
import { field, heading, inviteMember, MEMBER, open, openAs, useDashboard } from './harness.ts';

// Failed requests are part of these tests.
const used = useDashboard({}, (problem) => problem.includes('Content-Security-Policy'));
let member: DashboardUser;

beforeAll(async () => {
  member = await inviteMember(used.dashboard, used.owner);
});

const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });
const signInDialog = (): Locator => used.page.getByRole('dialog', { name: 'Sign in again' });

/** Ends the session, then clicks in the page. A mouse click might be too late, because another request may open the dialog first. */
async function clickAfterTheSession(control: Locator): Promise<void> {
  await used.watched.context.clearCookies();
  await control.evaluate((element: HTMLElement) => element.click());
}

async function fillCredentials(where: Page | Locator, user: typeof OWNER): Promise<void> {
  await field(where, 'Email address').fill(user.email);
  await field(where, 'Password').fill(user.password);
  await where.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function fillChannel(name: string): Promise<void> {
  await used.page.goto('/channels/new');
  await field(used.page, 'Name').fill(name);
  await field(used.page, 'URL').fill(used.dashboard.receiver.url('/hook'));
}

/** Closes the dialog that shows the secret of a new channel. */
async function storeSecret(): Promise<void> {
  const dialog = used.page.getByRole('dialog');
  await dialog.getByText(/whsec_/).waitFor();
  await button(used.page, 'Done').click();
}

describe('outside of a session', () => {
  test('an invalid link shows only what to do', async () => {
    const { page } = used;
    for (const [path, message] of [
      ['/setup?token=unknown', /^If this installation has an owner, sign in, /],
      ['/invitation?token=unknown', /Ask for a new one/],
    ] as const) {
      await page.goto(path);
      await heading(page, 'This link does not work').waitFor();
      await page.getByText(message).waitFor();
      expect(await page.getByRole('textbox').count()).toBe(0);
    }
  });

  test('another loopback address is the same site, and any other address explains itself', async () => {
    const { page } = used;
    await page.goto('http://127.0.0.1/');
    await heading(page, 'Sign in').waitFor();
    await fillCredentials(page, OWNER);
    await heading(page, 'Monitors').waitFor();
    await page.goto('http://wrong.localhost/sign-in');
    await page.getByText('PUBLIC_URL=http://wrong.localhost').waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
    expect(await findViolations(page)).toEqual([]);
  });

  test('before there is a user, the first page says where the link is', async () => {
    const { page, watched } = used;
    await watched.context.clearCookies();
    const methods = { methods: ['password'], hasUsers: false, origins: ['http://tocsin.localhost'] };
    await page.route('**/api/dashboard/sign-in-methods', (route) => route.fulfill({ json: methods }));
    await page.goto('/');
    await page.getByText('/setup?token=').waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
  });

  test('the API reference loads nothing from other hosts', async () => {
    const { context, problems } = await openContext(used.dashboard.browser);
    const docs = await context.newPage();
    await docs.goto('/docs');
    await docs.getByText('Create a monitor').first().waitFor();
    await docs.getByRole('link', { name: 'Back to the dashboard' }).waitFor();
    await context.close();
    // The bundle of the reference contains zod, which tests whether it may use eval and works without it.
    const evalProbe = 'console: Content-Security-Policy: script-src forbids eval';
    expect(problems.filter((problem) => problem !== evalProbe)).toEqual([]);
  });

  test('a path without a page has the landmarks, and the shell for a signed-in user', async () => {
    const { page, watched, owner } = used;
    await watched.context.clearCookies();
    await page.goto('/default/nope');
    await heading(page, 'Not found').waitFor();
    expect(await page.getByRole('main').count()).toBe(1);
    expect(await page.getByRole('navigation').count()).toBe(0);
    await watched.context.addCookies(owner.cookies);
    await page.reload();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    expect(await page.title()).toBe('Not found · Tocsin');
  });
});

describe('a session that ends', () => {
  test('in mid-form is renewed in place, by the same user only', async () => {
    const { page, owner } = used;
    await fillChannel('On call');
    const loadedAt = await documentTime(page);
    await clickAfterTheSession(button(page, 'Create channel'));
    await signInDialog().waitFor();
    expect(await page.getByText('Leave without saving?').count()).toBe(0);
    expect(await field(signInDialog(), 'Email address').inputValue()).toBe(OWNER.email);
    expect(await findViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await fillCredentials(signInDialog(), MEMBER);
    await signInDialog().getByText(`Signed in as ${MEMBER.email}`).waitFor();
    expect((await owner.call('GET /api/dashboard/channels')).channels).toEqual([]);

    await fillCredentials(signInDialog(), OWNER);
    // The held request created the channel.
    await storeSecret();
    await heading(page, 'On call').waitFor();
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    expect(await documentTime(page)).toBe(loadedAt);
  });

  test('under a dialog keeps the dialog, and a sign-in in another tab is enough', async () => {
    const { page, watched, owner } = used;
    await page.goto('/api-keys');
    await button(page, 'New API key').first().click();
    const form = page.getByRole('dialog', { name: 'New API key' });
    await field(form, 'Name').fill('CI');
    await clickAfterTheSession(form.getByRole('button', { name: 'Create' }));
    await signInDialog().waitFor();
    await watched.context.addCookies(owner.cookies);
    await page.getByText(/^tocsin_live_/).waitFor();
  });

  test('leads to the sign-in page if the user does not sign in again', async () => {
    const { page } = used;
    await fillChannel('Unsaved');
    await clickAfterTheSession(button(page, 'Create channel'));
    await button(page, 'Leave this page without signing in').click();
    await heading(page, 'Sign in').waitFor();
    expect(new URL(page.url()).searchParams.get('from')).toBe('/default/channels/new');
  });

  test('and becomes one of another user in another tab does not save a form as that user', async () => {
    const { page, watched } = used;
    const signedInAs = (tab: Page): Locator =>
      tab.getByRole('dialog', { name: 'Sign in again' }).getByText(`Signed in as ${MEMBER.email}`);
    await fillChannel('Of Ada');
    const [idle, tab] = [await watched.context.newPage(), await watched.context.newPage()];
    await idle.goto('/incidents');
    await idle.getByRole('status').getByText('Live', { exact: true }).waitFor();
    await tab.goto('/');
    await tab.getByRole('button', { name: 'Your profile' }).click();
    await tab.getByRole('menuitem', { name: 'Sign out' }).click();
    await fillCredentials(tab, MEMBER);
    await heading(tab, 'Monitors').waitFor();

    await button(page, 'Create channel').evaluate((element: HTMLElement) => element.click());
    await signedInAs(page).waitFor();
    // The stream ends with the session.
    await signedInAs(idle).waitFor();
    const { channels } = await member.call('GET /api/dashboard/channels');
    expect(channels.map(({ name }) => name)).not.toContain('Of Ada');
    await fillCredentials(signInDialog(), OWNER);
    await storeSecret();
    await heading(page, 'Of Ada').waitFor();
    await signedInAs(idle).waitFor({ state: 'detached' });
    // The other user signed out the session of the other tests.
    used.owner = await signIn(used.dashboard.api.port, OWNER);
  });
});

describe('the shell', () => {
  test('is live in eight tabs over HTTP/1.1, also after the first one is closed', async () => {
    const { page, watched } = used;
    const tabs = [page];
    for (let count = 1; count < 8; count += 1) tabs.push(await watched.context.newPage());
    const waitUntilLive = async (tab: Page): Promise<void> => {
      await heading(tab, 'Monitors').waitFor();
      await tab.getByRole('status').getByText('Live', { exact: true }).waitFor();
    };
    for (const tab of tabs) {
      await tab.goto('/');
      await waitUntilLive(tab);
    }
    await page.close();
    const [second, ...others] = tabs.slice(1);
    // The other tabs follow the one that took over.
    await second?.reload();
    for (const tab of [second, ...others]) if (tab !== undefined) await waitUntilLive(tab);
  });

  test('when the server is back, loads a page that was not visited before', async () => {
    const { page, watched } = used;
    await page.goto('/');
    await heading(page, 'Monitors').waitFor();
    await watched.context.setOffline(true);
    await page.getByRole('navigation').getByRole('link', { name: 'Regions' }).click();
    await page.getByText(/^Tocsin is unreachable, and this page/).waitFor();
    await heading(page, 'This page could not be opened').waitFor();
    await watched.context.setOffline(false);
    await heading(page, 'Regions').waitFor();
  });

  test('reloads the document once for a page that is missing on the server', async () => {
    const { page } = used;
    await page.goto('/');
    await heading(page, 'Monitors').waitFor();
    let loads = 0;
    page.on('domcontentloaded', () => (loads += 1));
    await page.route('**/assets/people-page*', (route) => route.fulfill({ status: 404 }));
    await page.getByRole('navigation').getByRole('link', { name: 'People' }).click();
    await page.getByText(/^A part of Tocsin is missing/).waitFor();
    expect(loads).toBe(1);
    await page.unroute('**/assets/people-page*');
    await button(page, 'Reload').click();
    await heading(page, 'People').waitFor();
  });
});

describe('access', () => {
  test('an owner confirms before giving owner rights, and the open page of the other person notices', async () => {
    const { page, dashboard } = used;
    const [{ context, problems }, other] = await openAs(dashboard, member);
    await open(other, '/');
    const people = other.getByRole('navigation').getByRole('link', { name: 'People' });
    expect(await people.count()).toBe(0);

    await open(page, '/people');
    const dialog = page.getByRole('dialog', { name: `Make ${MEMBER.name} an owner?` });
    const role = page.getByLabel(`Role of ${MEMBER.name}`);
    // The only owner cannot be demoted or removed.
    expect(await page.getByLabel(`Role of ${OWNER.name}`).count()).toBe(0);
    expect(await button(page, `Remove ${OWNER.name}`).count()).toBe(0);
    await role.selectOption('owner');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await role.inputValue()).toBe('member');
    await role.selectOption('owner');
    await dialog.getByRole('button', { name: 'Make owner' }).click();
    await page.getByLabel(`Role of ${OWNER.name}`).waitFor();

    await people.waitFor();
    await other.getByText('Your role in this account is now Owner.').waitFor();
    await role.selectOption('member');
    await page.getByRole('button', { name: 'Change role' }).click();
    await page.getByLabel(`Role of ${OWNER.name}`).waitFor({ state: 'detached' });
    await context.close();
    expect(problems).toEqual([]);
  });

  test('a member sees no controls of people that would fail', async () => {
    const [{ context, problems }, page] = await openAs(used.dashboard, member);
    await open(page, '/people');
    await page.getByText('Owners only').waitFor();
    expect(await page.getByRole('button', { name: 'Invite' }).count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    await context.close();
    expect(problems).toEqual([]);
  });
});
