import { beforeAll, describe, expect, test } from '@jest/globals';
import { documentTime, findViolations, openContext } from '@tocsin/browser/browser';
import { acceptInvitation, type DashboardUser, OWNER, signIn } from '@tocsin/browser/dashboard-system';
import { until } from '@tocsin/embedded/testing/until';
import type { Locator, Page } from 'playwright-core';
import {
  createMonitors,
  field,
  heading,
  inviteMember,
  MEMBER,
  open,
  openAs,
  row,
  useDashboard,
} from './harness.ts';

// Failed requests are part of these tests.
const used = useDashboard({}, (problem) => problem.includes('Content-Security-Policy'));
let member: DashboardUser;

beforeAll(async () => {
  member = await inviteMember(used.dashboard, used.owner);
});

const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });
const signInDialog = (): Locator => used.page.getByRole('dialog', { name: 'Sign in again' });

/** Ends the session, then clicks. A click of the mouse might be too late: another request may open the dialog before. */
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
  await button(used.page, 'I have stored it').click();
}

const hasFocus = (element: Locator): Promise<boolean> =>
  element.evaluate((found) => found === document.activeElement);

describe('outside of a session', () => {
  test('a link that does not work shows only what to do', async () => {
    const { page } = used;
    for (const [path, message] of [
      ['/setup?token=unknown', /^If this installation has an owner, sign in, /],
      ['/invitation?token=unknown', /ask for a new one/],
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

  test('the API reference loads nothing from other hosts', async () => {
    const { context, problems } = await openContext(used.dashboard.browser);
    const docs = await context.newPage();
    await docs.goto('/docs');
    await docs.getByText('Create a monitor').first().waitFor();
    await context.close();
    // The bundle of the reference contains zod, which tests whether it may use eval and works without it.
    const evalProbe = 'console: Content-Security-Policy: script-src forbids eval';
    expect(problems.filter((problem) => problem !== evalProbe)).toEqual([]);
  });

  test('a path without a page has the landmarks, and the shell for a signed-in user', async () => {
    const { page, watched, owner } = used;
    await watched.context.clearCookies();
    await page.goto('/nope');
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
    expect(new URL(page.url()).searchParams.get('from')).toBe('/channels/new');
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
    await tab.getByRole('button', { name: 'Account' }).click();
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
  test('loads a page that was not visited before the server went down when it is back', async () => {
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

  test('has a palette that finds monitors by label, pages and actions, also from a field', async () => {
    const { page } = used;
    const ids = await createMonitors(used, { Payments: { team: 'money' } });
    await open(page, '/incidents');
    await page.keyboard.press('Control+k');
    const search = page.getByRole('combobox', { name: 'Search monitors, pages and actions' });
    await search.fill('money');
    const option = page.getByRole('option', { name: /^Payments/ });
    await option.and(page.locator('[aria-selected="true"]')).waitFor();
    expect(await search.getAttribute('aria-activedescendant')).toBe(await option.getAttribute('id'));
    expect(await findViolations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await heading(page, 'Payments').waitFor();
    expect(new URL(page.url()).pathname).toBe(`/monitors/${ids.get('Payments')}`);

    await button(page, 'Search').click();
    await search.fill('new win');
    await page.keyboard.press('Enter');
    await heading(page, 'New maintenance window').waitFor();
    await search.waitFor({ state: 'detached' });
    // In a field, the slash is text.
    const name = field(page, 'Name');
    await name.press('/');
    expect(await name.inputValue()).toBe('/');
    await name.press('Control+k');
    await search.fill('dark light');
    await page.getByRole('option', { name: 'Dark colors' }).waitFor();
    await page.keyboard.press('Escape');
    await search.waitFor({ state: 'detached' });
    await until('the field has the focus again', () => hasFocus(name));
  });
});

describe('access', () => {
  /** The status of a request with an API key. */
  const statusOf = async (key: string): Promise<number> =>
    (await listMonitors(used.dashboard.api.port, key)).status;

  test('a read-only key reads monitors, without the values of their headers', async () => {
    const { page, owner, dashboard } = used;
    const body = { name: 'Shop', url: dashboard.target.url('/'), headers: { Authorization: 'hidden' } };
    await owner.call('POST /api/dashboard/monitors', { body });
    await open(page, '/api-keys');
    await page.getByRole('button', { name: 'New API key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Grafana');
    await dialog.getByLabel('Sources', { exact: true }).waitFor();
    await dialog.getByRole('radio', { name: 'Read only' }).check();
    await dialog.getByLabel('Sources', { exact: true }).waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Create' }).click();
    const key = await dialog.getByLabel('the key', { exact: true }).innerText();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await row(page, 'Grafana').getByText('Read only').waitFor();
    const response = await listMonitors(dashboard.api.port, key);
    expect(JSON.stringify(await response.json())).toContain('"Authorization":"(secret)"');
  });

  test('removing a user revokes the keys that they created', async () => {
    const { page, owner, dashboard } = used;
    const { token } = await owner.call('POST /api/dashboard/invitations', { body: { role: 'member' } });
    const person = { name: 'Grace Hopper', email: 'grace@example.com', password: 'nanoseconds matter' };
    const grace = await acceptInvitation(dashboard.api.port, token, person);
    const { key } = await grace.call('POST /api/dashboard/api-keys', { body: { name: 'terraform' } });
    await open(page, '/api-keys');
    await row(page, 'terraform').getByText('Grace Hopper', { exact: true }).waitFor();
    expect(await statusOf(key)).toBe(200);
    await page.getByRole('navigation').getByRole('link', { name: 'People' }).click();
    await page.getByRole('button', { name: 'Remove Grace Hopper' }).click();
    const dialog = page.getByRole('dialog');
    const checkbox = dialog.getByRole('checkbox', { name: /^Revoke the API key that they created: / });
    expect(await checkbox.isChecked()).toBe(true);
    await dialog.getByLabel('Type Grace Hopper to confirm').fill('Grace Hopper');
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await row(page, 'Grace Hopper').waitFor({ state: 'detached' });
    expect(await statusOf(key)).toBe(401);
  });

  test('a member sees no controls of people that would fail', async () => {
    const [{ context, problems }, page] = await openAs(used.dashboard, member);
    await open(page, '/people');
    await page.getByText('Only for owners').waitFor();
    expect(await page.getByRole('button', { name: 'Invite' }).count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    await context.close();
    expect(problems).toEqual([]);
  });

  test('the audit log shows what changed, and is filtered by action and target', async () => {
    const { page, owner } = used;
    const id = (await createMonitors(used, { Api: { tier: 'api' } })).get('Api') ?? '';
    await owner.call('PUT /api/dashboard/monitors/:id', { id, body: { labels: { team: 'a' } } });
    await open(page, `/monitors/${id}`);
    await page.getByRole('link', { name: 'Change history' }).click();
    await heading(page, 'Audit log').waitFor();
    const entries = page.getByRole('main').getByRole('listitem');
    await until('the history of one monitor', async () => (await entries.count()) === 2);
    const update = await entries.first().innerText();
    expect(update).toMatch(/Monitor updated Api by Ada Byron/);
    expect(update).toMatch(/labels\.tier\s+api\s+removed/);
    expect(update).toMatch(/labels\.team\s+a/);
    await page.getByRole('button', { name: 'Show all targets' }).click();
    await page.getByRole('combobox', { name: 'Action' }).click();
    await page.getByRole('option', { name: 'Monitor created' }).click();
    await until('only created monitors', async () => {
      const texts = await entries.allInnerTexts();
      return texts.length > 1 && texts.every((text) => text.includes('Monitor created'));
    });
    await page.waitForURL(/action=monitor.created/);
  });
});

function listMonitors(port: number, key: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/api/cli/monitors`, { headers: { Authorization: `Bearer ${key}` } });
}
