import { beforeAll, describe, expect, test } from '@jest/globals';
import { findViolations, openContext, ORIGIN } from '@tocsin/browser/browser';
import { acceptInvitation, type DashboardUser, OWNER } from '@tocsin/browser/dashboard-system';
import { until } from '@tocsin/embedded/testing/until';
import { bearer, fetchApi } from '@tocsin/lab/api-client';
import type { Page } from 'playwright-core';
import { field, heading, MEMBER, open, openAs, row, useDashboard, waitForNames } from './harness.ts';

// Requests for an unknown account fail.
const used = useDashboard({}, (problem) => !problem.includes('404'));
let member: DashboardUser;
/** Works in two accounts. */
const CLEO = { name: 'Cleo', email: 'cleo@example.com', password: 'a third horse battery' };
const monitorIds = new Map<string, string>();

beforeAll(async () => {
  const { owner, dashboard } = used;
  for (const [slug, role] of [
    ['shop', 'member'],
    ['blog', 'viewer'],
  ] as const) {
    const { account } = await owner.call('POST /api/operator/accounts', {
      body: { name: `The ${slug}`, slug },
    });
    for (const { email, role: ofUser } of [
      { email: OWNER.email, role: 'owner' },
      { email: MEMBER.email, role },
    ] as const) {
      const added = await owner.call('PUT /api/operator/accounts/:id/members', {
        id: account.id,
        body: { email, role: ofUser },
      });
      if ('url' in added)
        member = await acceptInvitation(
          dashboard.api.port,
          new URL(String(added.url)).searchParams.get('token') ?? '',
          MEMBER,
        );
    }
    const body = { name: `Of the ${slug}`, url: dashboard.target.url('/'), interval: 3_600 };
    const { monitor } = await owner.callIn(slug)('POST /api/dashboard/monitors', { body });
    monitorIds.set(slug, monitor.id);
  }
});

const SEARCH = { name: 'Search monitors, pages and actions' };
const pathOf = (page: Page): string => new URL(page.url()).pathname;

describe('an address without an account', () => {
  test('of a record opens the account that has the record', async () => {
    const { page } = used;
    for (const slug of ['blog', 'shop']) {
      await open(page, `/monitors/${monitorIds.get(slug)}?range=7d`);
      await heading(page, `Of the ${slug}`).waitFor();
      expect(page.url()).toMatch(new RegExp(`/${slug}/monitors/.*\\?range=7d$`));
    }
  });

  test('of any other page opens the account that was used last', async () => {
    const { page } = used;
    for (const slug of ['blog', 'shop']) {
      await open(page, `/${slug}`);
      await row(page, `Of the ${slug}`).waitFor();
      await open(page, '/incidents');
      expect(pathOf(page)).toBe(`/${slug}/incidents`);
      await open(page, '/profile');
      await page.getByRole('button', { name: `Account: The ${slug}` }).waitFor();
    }
  });
});

test("an unknown account shows the user's accounts", async () => {
  const { page } = used;
  await open(page, '/none/monitors/new');
  await heading(page, 'Account not found').waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole('link', { name: 'The blog' }).click();
  await row(page, 'Of the blog').waitFor();
});

test('the switcher and the search open another account, whose title the tab shows', async () => {
  const { page } = used;
  await open(page, '/SHOP');
  await row(page, 'Of the shop').waitFor();
  expect(pathOf(page)).toBe('/shop');
  expect(await page.title()).toBe('Monitors · The shop · Tocsin');
  await page.getByRole('button', { name: 'Account: The shop' }).click();
  await page.getByRole('menuitem', { name: 'The blog' }).click();
  await row(page, 'Of the blog').waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', SEARCH).fill('The shop');
  await page.keyboard.press('Enter');
  await row(page, 'Of the shop').waitFor();
  expect(pathOf(page)).toBe('/shop');
});

test('an operator creates two accounts for one person, who works in both at once', async () => {
  const { page, dashboard, owner } = used;
  const dialog = page.getByRole('dialog');
  const addMember = async (team: string, role: RegExp): Promise<void> => {
    await open(page, '/operator/accounts');
    await page.getByRole('button', { name: 'New account' }).click();
    await field(dialog, 'Name').fill(team);
    await dialog.getByRole('button', { name: 'Create account' }).click();
    await heading(page, team).waitFor();
    await page.getByRole('button', { name: 'Add a member' }).click();
    await field(dialog, 'Email address').fill(CLEO.email);
    await dialog.getByRole('radio', { name: role }).check();
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  };
  await addMember('Team Red', /^Owner/);
  const link = (await dialog.getByRole('group', { name: 'the link' }).textContent()) ?? '';
  await dialog.getByRole('button', { name: 'Done' }).click();

  const { context, problems } = await openContext(dashboard.browser);
  const red = await context.newPage();
  await red.goto(link);
  await red.getByText('to join Team Red').waitFor();
  await red.getByLabel('Your name').fill(CLEO.name);
  await field(red, 'Password').fill(CLEO.password);
  await red.getByRole('button', { name: 'Join' }).click();
  await red.getByText('No monitors yet').waitFor();
  expect(pathOf(red)).toBe('/team-red');
  // The user exists by now, and is added at once.
  await addMember('Team Blue', /^Viewer/);
  await row(page, CLEO.name).waitFor();

  const { accounts } = await owner.call('GET /api/operator/accounts');
  const id = accounts.find(({ slug }) => slug === 'team-blue')?.id ?? '';
  const { key } = await owner.call('POST /api/operator/accounts/:id/api-keys', { id, body: { name: 'CI' } });
  const api = { baseUrl: `http://127.0.0.1:${dashboard.api.port}`, headers: bearer(key) };
  const body = { name: 'Blue shop', url: dashboard.target.url('/') };
  await fetchApi(api, { method: 'POST', path: '/api/cli/monitors', body });

  await open(red, '/team-red/monitors/new');
  const blue = await context.newPage();
  await open(blue, '/team-blue');
  await blue.getByText('View only').waitFor();
  expect(await blue.getByRole('link', { name: 'New monitor' }).count()).toBe(0);
  await field(red, 'Name').fill('Red shop');
  await field(red, 'URL').fill(dashboard.target.url('/'));
  await red.getByRole('button', { name: 'Create monitor' }).click();
  await heading(red, 'Red shop').waitFor();
  await red.getByRole('navigation').getByRole('link', { name: 'Monitors' }).click();
  await waitForNames(red, 'Red shop');
  await waitForNames(blue, 'Blue shop');
  await context.close();
  expect(problems).toEqual([]);
});

test('a region gets an agent token, every page says that no agent is connected, and only an unused region can be deleted', async () => {
  const { page, owner, dashboard } = used;
  const dialog = page.getByRole('dialog');
  const confirm = (name: string): Promise<void> => dialog.getByRole('button', { name, exact: true }).click();
  await open(page, '/shop/regions');
  await page.getByRole('button', { name: 'New region' }).click();
  await field(dialog, 'Code').fill('branch');
  await field(dialog, 'Name').fill('Branch office');
  await confirm('Create region');
  await heading(page, 'Branch office').waitFor();
  await page.getByRole('button', { name: 'New token' }).click();
  await field(dialog, 'Name').fill('Rack 2');
  await confirm('Create');
  const token = (await dialog.getByRole('group', { name: 'the token' }).textContent()) ?? '';
  expect(token).toMatch(/^tocsin_agent_/);
  const command = dialog.getByRole('group', { name: 'the command for Docker' });
  expect(await command.textContent()).toContain(`TOCSIN_URL=${ORIGIN} \\\n  -e AGENT_TOKEN=${token} `);
  await confirm('Done');

  const { pool } = dashboard.system.database;
  // This never expires, as if a gateway kept renewing it.
  await pool.query(
    `insert into agent_connections (id, gateway_id, token_id, region, name, version, connected_since, in_flight, renewed_at)
     select gen_random_uuid(), gen_random_uuid(), id, region, 'probe-1', '0.1.0', now(), 3, 'infinity' from agent_tokens where name = 'Rack 2'`,
  );
  await row(page, 'probe-1').waitFor();
  const body = { name: 'Intranet', url: dashboard.target.url('/'), regions: ['branch'] };
  const { monitor } = await owner.callIn('shop')('POST /api/dashboard/monitors', { body });
  await pool.query('delete from agent_connections');
  await page.getByText(/^Region branch has had no connected agent since/).waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByText('The region is used by 1 monitor: Intranet.').waitFor();
  await confirm('Cancel');

  await owner.callIn('shop')('DELETE /api/dashboard/monitors/:id', { id: monitor.id });
  await page.getByRole('link', { name: '0 monitors' }).waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByRole('textbox').fill('branch');
  await confirm('Delete');
  await heading(page, 'Regions').waitFor();
  await row(page, 'branch').waitFor({ state: 'detached' });
});

test('a user joins by an invitation after signing in, but not by one for somebody else', async () => {
  const { owner, dashboard } = used;
  const invite = async (email: string): Promise<string> => {
    const body = { role: 'viewer', email } as const;
    const { token } = await owner.callIn('default')('POST /api/dashboard/invitations', { body });
    return `/invitation?token=${token}`;
  };
  const { context, problems } = await openContext(dashboard.browser);
  const page = await context.newPage();
  await open(page, await invite(MEMBER.email));
  await page.getByRole('link', { name: 'Sign in' }).click();
  await field(page, 'Email address').fill(MEMBER.email);
  await field(page, 'Password').fill(MEMBER.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: `Join Default as ${MEMBER.name}` }).click();
  await heading(page, 'Monitors').waitFor();
  expect(pathOf(page)).toBe('/default');

  await open(page, await invite('dora@example.com'));
  await page.getByText(`You are signed in as ${MEMBER.email}`).waitFor();
  expect(await page.getByRole('button', { name: /^Join/ }).count()).toBe(0);
  await page.getByRole('button', { name: /^Sign out/ }).click();
  await page.getByRole('button', { name: 'Join' }).waitFor();
  expect(await field(page, 'Email address').inputValue()).toBe('dora@example.com');
  await context.close();
  expect(problems).toEqual([]);
});

/** Names of the controls in the content of a page, with the URL of a link that has no text. */
function controlsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const controls = document.querySelectorAll<HTMLElement>('main :is(button, a, input, select, textarea)');
    const names = [...controls].map((control) => control.ariaLabel ?? control.innerText);
    return [...new Set(names)].filter((name) => name !== '').sort();
  });
}

describe('a viewer has every control of an owner, except those that the API would refuse,', () => {
  const paths = new Map<string, string>();
  let viewer: Page;

  beforeAll(async () => {
    const { dashboard, owner } = used;
    const call = owner.callIn('blog');
    const url = dashboard.broken.url('/');
    const { monitor } = await call('POST /api/dashboard/monitors', {
      body: { name: 'Broken', url, interval: 3_600, headers: { 'X-Key': 'k' }, failureThreshold: 1 },
    });
    const { channel } = await call('POST /api/dashboard/channels', {
      body: { name: 'On call', url: dashboard.receiver.url('/hook'), allMonitors: true },
    });
    const startsAt = new Date(Date.now() + 86_400_000).toISOString();
    const endsAt = new Date(Date.now() + 90_000_000).toISOString();
    const { maintenanceWindow } = await call('POST /api/dashboard/maintenance-windows', {
      body: { name: 'Move', startsAt, endsAt, monitorIds: [monitor.id] },
    });
    await call('POST /api/dashboard/api-keys', { body: { name: 'CI' } });
    const path = { code: 'office' };
    await call('POST /api/dashboard/regions', { body: path });
    await call('POST /api/dashboard/regions/:code/agent-tokens', { path, body: { name: 'Rack 1' } });
    await dashboard.system.service('checker', { REGION: 'default' }).start();
    const incident = await until('an incident', async () => {
      const { incidents } = await call('GET /api/dashboard/incidents');
      return incidents[0]?.id ?? false;
    });
    await call('POST /api/dashboard/incidents/:id/notes', { id: incident, body: { text: 'On it.' } });
    paths.set('monitor', `/monitors/${monitor.id}`).set('incident', `/incidents/${incident}`);
    paths.set('channel', `/channels/${channel.id}`).set('window', `/maintenance/${maintenanceWindow.id}`);
    [, viewer] = await openAs(dashboard, member);
  });

  test.each([
    ['/', ['New monitor', 'Select']],
    [
      'monitor',
      [
        'Add one',
        'Check now',
        'Clone',
        'Copy the curl command',
        'Delete',
        'Edit',
        'Maintenance',
        'Response',
        'Show values',
        'curl',
        'tocsin.yaml',
      ],
    ],
    ['/incidents', []],
    ['incident', ['Acknowledge', 'Add note', 'Delete note', 'Edit note', 'New note', 'Response']],
    ['/reports', []],
    ['/maintenance', ['New window']],
    ['window', ['Delete', 'Edit']],
    ['/channels', ['New channel']],
    [
      'channel',
      ['Delete', 'Disable', 'Edit', 'Redeliver a time range', 'Reveal', 'Rotate', 'Send a test event'],
    ],
    ['/regions', ['Choose canaries for default', 'New region']],
    ['/regions/office', ['Delete', 'Delete the token Rack 1', 'New token']],
    ['/api-keys', ['Delete the key CI', 'New API key']],
    ['/audit-log', []],
    ['/profile', []],
  ])('on %s', async (name, refused) => {
    const { page } = used;
    for (const tab of [page, viewer]) await open(tab, `/blog${paths.get(name) ?? name}`);
    const [ofOwner, ofViewer] = [await controlsOf(page), await controlsOf(viewer)];
    expect(ofOwner.filter((control) => !ofViewer.includes(control))).toEqual(refused);
    expect(ofViewer.filter((control) => !ofOwner.includes(control))).toEqual([]);
  });

  test('in the navigation and the search', async () => {
    await open(viewer, '/blog');
    expect(await viewer.getByRole('navigation').getByRole('link', { name: 'People' }).count()).toBe(0);
    await viewer.keyboard.press('Control+k');
    await viewer.getByRole('combobox', SEARCH).fill('new ');
    await viewer.getByText('Nothing found').waitFor();
    await open(viewer, '/blog/channels/new');
    await heading(viewer, 'View only').waitFor();
  });
});
