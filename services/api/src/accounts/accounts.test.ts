import { randomUUID } from 'node:crypto';
import { expect, describe, test } from '@jest/globals';
import type { Account } from '@tocsin/contracts/accounts/account';
import { ACCOUNT_HEADER } from '@tocsin/contracts/identity/user-header';
import { purgeDeletedAccounts } from '@tocsin/db/accounts/purge-accounts';
import { deleteFinished } from '@tocsin/db/database/delete-expired';
import { until } from '@tocsin/embedded/testing/until';
import type { User } from '@tocsin/contracts/people/user';
import type TestAgent from 'supertest/lib/agent.js';
import { goDown, newChannel } from '../testing/channels.ts';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { browser, newSignedInUser, newUser, PASSWORD, signInAsOperator } from '../testing/sign-in.ts';
import { OPERATOR_KEY, useTestApi } from '../testing/test-api.ts';

const ACCOUNTS = '/api/operator/accounts';
const OWN = '/api/dashboard/accounts';
const ME = '/api/dashboard/me';

const api = await useTestApi();
const operator = api.as(OPERATOR_KEY);

async function newAccount(fields: object = {}): Promise<Account> {
  const body = { name: 'Shop', slug: `s-${randomUUID()}`, ...fields };
  const response = await operator.post(ACCOUNTS).send(body).expect(201);
  return (response.body as { account: Account }).account;
}

const setMember = (id: string, email: string, role: string) =>
  operator.put(`${ACCOUNTS}/${id}/members`).send({ email, role });

const slugsOf = async (agent: TestAgent): Promise<string[]> =>
  ((await agent.get(OWN)).body as { accounts: { slug: string }[] }).accounts.map(({ slug }) => slug);

describe('an account', () => {
  test('has a slug from its name, the quotas of the settings and no usage', async () => {
    const { body } = await operator.post(ACCOUNTS).send({ name: 'Café Zürich & Groß' }).expect(201);
    const quotas = {
      monitors: 50_000,
      channels: 1_000,
      maintenanceWindows: 1_000,
      regions: 20,
      checksPerMinute: 0,
    };
    const usage = { monitors: 0, channels: 0, maintenanceWindows: 0, regions: 0, checksPerMinute: 0 };
    expect(body).toMatchObject({ account: { slug: 'cafe-zurich-gross', quotas, usage, groups: [] } });
  });

  test('has another slug than every other account and every page', async () => {
    const { slug } = await newAccount();
    const taken = await operator.post(ACCOUNTS).send({ name: 'x', slug });
    expect([taken.status, taken.body]).toMatchObject([409, { errors: [{ path: 'slug', code: 'conflict' }] }]);
    for (const invalid of ['monitors', 'operator', 'A', '-a', ''])
      expect((await operator.post(ACCOUNTS).send({ name: 'x', slug: invalid })).status).toBe(400);
    for (const name of ['!!!', 'Monitors'])
      expect((await operator.post(ACCOUNTS).send({ name })).body).toMatchObject({
        errors: [{ path: 'slug' }],
      });
  });

  test('changes only in the fields that are sent, which are replaced whole', async () => {
    const { id, slug } = await newAccount({ quotas: { monitors: 5, channels: 6 } });
    const groups = [{ group: 'sre', role: 'owner' }];
    const { body } = await operator.patch(`${ACCOUNTS}/${id}`).send({ quotas: { monitors: 7 }, groups });
    const ownQuotas = { monitors: 7 };
    expect(body).toMatchObject({
      account: { slug, quotas: { monitors: 7, channels: 1_000 }, ownQuotas, groups },
    });
    expect((await operator.get(`${ACCOUNTS}/${id}`)).body).toEqual(body);
  });

  test('shows what it uses', async () => {
    const { id } = await newAccount();
    const { body } = await operator.post(`${ACCOUNTS}/${id}/api-keys`).send({ name: 'CI' }).expect(201);
    const key = api.as((body as { key: string }).key);
    for (const regions of [['eu', 'us'], ['eu']])
      await key
        .post(MONITORS)
        .send({ name: 'a', url: 'http://a.example', interval: 30, regions })
        .expect(201);
    await key
      .post('/api/cli/channels')
      .send({ name: 'a', url: 'https://hooks.invalid/a', monitorIds: [] })
      .expect(201);
    const usage = { monitors: 2, channels: 1, maintenanceWindows: 0, regions: 2, checksPerMinute: 6 };
    expect((await operator.get(`${ACCOUNTS}/${id}`)).body).toMatchObject({ account: { usage } });
  });

  test('is deleted only by its slug, and then its keys and sessions end at once', async () => {
    const { id, slug } = await newAccount();
    const { body } = await operator.post(`${ACCOUNTS}/${id}/api-keys`).send({ name: 'CI' });
    const key = api.as((body as { key: string }).key);
    const [only, both] = [await newSignedInUser(api, { accountId: id }), await newSignedInUser(api)];
    await setMember(id, both.email, 'member').expect(200);
    expect((await operator.delete(`${ACCOUNTS}/${id}`)).status).toBe(400);
    expect((await operator.delete(`${ACCOUNTS}/${id}?confirm=other`)).status).toBe(400);
    expect((await key.get(MONITORS)).status).toBe(200);
    expect((await operator.delete(`${ACCOUNTS}/${id}?confirm=${slug}`)).status).toBe(204);
    expect((await key.get(MONITORS)).status).toBe(401);
    expect((await only.agent.get(ME)).status).toBe(401);
    expect((await both.agent.get(ME)).status).toBe(200);
    expect((await operator.get(`${ACCOUNTS}/${id}`)).status).toBe(404);
    expect((await operator.post(ACCOUNTS).send({ name: 'Again', slug })).status).toBe(201);
  });

  test('is deleted with all its data, including the history of its monitors', async () => {
    const { id, slug } = await newAccount();
    const { agent } = await newSignedInUser(api, { accountId: id });
    const { body } = await operator.post(`${ACCOUNTS}/${id}/api-keys`).send({ name: 'CI' });
    const { id: monitorId } = await newMonitor(api, {}, (body as { key: string }).key);
    await newChannel(agent);
    await goDown(api, monitorId);
    await operator.delete(`${ACCOUNTS}/${id}?confirm=${slug}`).expect(204);
    const rowsOf = async (table: string, column: string, value: string): Promise<number> =>
      (await api.database.pool.query(`select from ${table} where ${column} = $1`, [value])).rowCount ?? 0;
    await until('the monitors are deleted', async () => (await rowsOf('monitors', 'account_id', id)) === 0);
    expect(await rowsOf('deleted_monitors', 'monitor_id', monitorId)).toBe(1);
    await deleteFinished(api.context.db, 90);
    await until('the account is deleted', async () => {
      await purgeDeletedAccounts(api.context.db);
      return (await rowsOf('accounts', 'id', id)) === 0;
    });
    for (const table of ['incidents', 'status_changes', 'audit_log', 'deliveries', 'channels'])
      expect([table, await rowsOf(table, 'account_id', id)]).toEqual([table, 0]);
  });
});

describe('a user of several accounts', () => {
  test('selects the account per request, and has a role in each', async () => {
    const [shop, pay] = [await newAccount({ name: 'Shop' }), await newAccount({ name: 'Pay' })];
    const { email, agent } = await newSignedInUser(api, { accountId: shop.id });
    expect((await agent.get(ME)).body).toMatchObject({ account: { slug: shop.slug } });
    expect((await setMember(pay.id, email.toUpperCase(), 'viewer')).body).toMatchObject({
      member: { email, role: 'viewer' },
    });
    const unnamed = await agent.get(ME);
    expect([unnamed.status, unnamed.body]).toMatchObject([
      400,
      { detail: expect.stringContaining(pay.slug) },
    ]);
    expect(await slugsOf(agent)).toEqual([pay.slug, shop.slug]);
    // An open page names its account by the id, because another account may get its slug.
    expect((await agent.get(ME).set(ACCOUNT_HEADER, pay.id)).body).toMatchObject({
      account: { slug: pay.slug },
    });
    for (const [{ slug }, role] of [
      [shop, 'owner'],
      [pay, 'viewer'],
    ] as const) {
      const expected = { user: { role }, account: { slug } };
      expect((await agent.get(ME).set(ACCOUNT_HEADER, slug)).body).toMatchObject(expected);
      expect((await agent.get(`${ME}?account=${slug}`)).body).toMatchObject(expected);
    }
    const monitor = { name: 'a', url: 'http://a.example' };
    const path = '/api/dashboard/monitors';
    const created = await agent.post(path).set(ACCOUNT_HEADER, shop.slug).send(monitor);
    expect(created.status).toBe(201);
    expect((await agent.post(path).set(ACCOUNT_HEADER, pay.slug).send(monitor)).status).toBe(403);
    const { id } = (created.body as { monitor: { id: string } }).monitor;
    expect((await agent.get(OWN).query({ record: id })).body).toMatchObject({
      accounts: [{ slug: shop.slug }],
    });
    expect((await agent.get(OWN).query({ record: randomUUID() })).body).toMatchObject({ accounts: [] });
    for (const slug of [api.account.slug, 'unknown', ''])
      expect((await agent.get(ME).set(ACCOUNT_HEADER, slug)).status).toBe(404);
    expect((await agent.get(`${ME}?account=${shop.slug}&account=${pay.slug}`)).status).toBe(404);
  });

  test('keeps the others when one account removes the user', async () => {
    const { id } = await newAccount();
    const user = await newSignedInUser(api);
    await setMember(id, user.email, 'owner').expect(200);
    const { agent: owner } = await newSignedInUser(api, { accountId: id });
    expect((await owner.delete(`/api/dashboard/users/${user.id}`)).status).toBe(204);
    expect(await slugsOf(user.agent)).toEqual([api.account.slug]);
  });

  test('joins by an invitation for the same address, once', async () => {
    const { id, slug } = await newAccount();
    const { agent: owner } = await newSignedInUser(api, { accountId: id });
    const user = await newSignedInUser(api);
    const invite = async (email: string): Promise<string> => {
      const response = await owner.post('/api/dashboard/invitations').send({ email, role: 'member' });
      return (response.body as { token: string }).token;
    };
    const join = (token: string) => user.agent.post('/api/dashboard/invitations/join').send({ token });
    const token = await invite(user.email);
    const { body } = await browser(api).post('/api/dashboard/invitations/check').send({ token });
    expect(body).toMatchObject({ invitation: { accountName: 'Shop', isUser: true } });
    const accept = { token, name: 'Mallory', password: PASSWORD };
    expect((await browser(api).post('/api/dashboard/invitations/accept').send(accept)).status).toBe(409);
    expect((await join(await invite('other@example.com'))).status).toBe(409);
    expect((await join(token)).body).toMatchObject({ account: { slug, role: 'member' } });
    expect((await join(token)).status).toBe(410);
  });
});

describe('a viewer', () => {
  test('has other versions of channels than a member, so a hidden URL is never written back', async () => {
    const { id } = await newAccount();
    const [owner, viewer] = [
      await newSignedInUser(api, { accountId: id }),
      await newSignedInUser(api, { accountId: id, role: 'viewer' }),
    ];
    const { channel } = await newChannel(owner.agent, { url: 'https://hooks.invalid/secret' });
    const path = `/api/dashboard/channels/${channel.id}`;
    const seen = await viewer.agent.get(path);
    expect(seen.body).toMatchObject({ channel: { url: 'https://hooks.invalid' } });
    const listed = (await viewer.agent.get('/api/dashboard/channels')).body as {
      channels: { etag: string }[];
    };
    expect(listed.channels[0]?.etag).toBe(seen.get('etag'));
    await setMember(id, viewer.email, 'member').expect(200);
    const etag = seen.get('etag') ?? '';
    expect((await viewer.agent.get(path).set('If-None-Match', etag)).status).toBe(200);
    const { url } = (seen.body as { channel: { url: string } }).channel;
    expect((await viewer.agent.put(path).set('If-Match', etag).send({ url })).status).toBe(412);
  });

  test('changes nothing with a key made as a member either', async () => {
    const { id } = await newAccount();
    await newUser(api, { accountId: id });
    const { agent, email } = await newSignedInUser(api, { accountId: id, role: 'member' });
    const { body } = await agent.post('/api/dashboard/api-keys').send({ name: 'CI' });
    const { key } = body as { key: string };
    const monitor = await newMonitor(api, {}, key);
    await setMember(id, email, 'viewer').expect(200);
    expect((await api.as(key).get(`${MONITORS}/${monitor.id}`)).status).toBe(200);
    const url = 'http://a.example';
    expect((await api.as(key).post(MONITORS).send({ name: 'b', url })).status).toBe(403);
    expect((await api.as(key).post(`${MONITORS}/${monitor.id}/trigger`).send({})).status).toBe(403);
  });
});

test('a key belongs to one account, so a request with it cannot name another', async () => {
  expect((await api.as().get(`${MONITORS}?account=${api.other.slug}`)).status).toBe(400);
  expect((await operator.get(`${ACCOUNTS}?account=shop`)).status).toBe(400);
});

describe('the members of an account', () => {
  test('are known users, or invited', async () => {
    const { id } = await newAccount();
    const { email } = await newUser(api);
    await setMember(id, email, 'owner').expect(200);
    await newUser(api, { accountId: id });
    await setMember(id, email, 'viewer').expect(200);
    const invited = await setMember(id, 'new@example.com', 'member');
    expect([invited.status, invited.body]).toMatchObject([
      201,
      {
        invitation: { email: 'new@example.com', role: 'member' },
        url: expect.stringContaining('/invitation?token='),
      },
    ]);
    const linkOf = ({ body }: { body: unknown }): string =>
      (body as { url: string }).url.split('token=')[1] ?? '';
    const again = await setMember(id, 'new@example.com', 'viewer');
    const check = async (token: string): Promise<number> =>
      (await browser(api).post('/api/dashboard/invitations/check').send({ token })).status;
    expect([await check(linkOf(invited)), await check(linkOf(again))]).toEqual([404, 200]);
    const { members } = (await operator.get(`${ACCOUNTS}/${id}/members`)).body as { members: User[] };
    expect(members.map(({ role }) => role)).toEqual(['viewer', 'owner']);
  });

  test('always include an owner', async () => {
    const { id } = await newAccount();
    const { id: userId, email } = await newUser(api, { accountId: id });
    expect((await setMember(id, email, 'member')).status).toBe(409);
    expect((await operator.delete(`${ACCOUNTS}/${id}/members/${userId}`)).status).toBe(409);
    await newUser(api, { accountId: id });
    expect((await operator.delete(`${ACCOUNTS}/${id}/members/${userId}`)).status).toBe(204);
    expect((await operator.delete(`${ACCOUNTS}/${id}/members/${userId}`)).status).toBe(404);
  });
});

test('operators can add and remove each other, except the last one', async () => {
  const OPERATORS = '/api/operator/operators';
  await api.database.pool.query('update users set is_operator = false');
  const first = await signInAsOperator(api);
  const { email, id, agent } = await newSignedInUser(api);
  expect((await agent.get(ACCOUNTS)).status).toBe(403);
  await first.put(OPERATORS).send({ email }).expect(200);
  expect((await agent.get(ACCOUNTS)).status).toBe(200);
  const { operators } = (await agent.get(OPERATORS)).body as { operators: { id: string }[] };
  const other = operators.find((one) => one.id !== id);
  await agent.delete(`${OPERATORS}/${other?.id ?? ''}`).expect(204);
  expect((await first.get(ACCOUNTS)).status).toBe(401);
  expect((await agent.delete(`${OPERATORS}/${id}`)).status).toBe(409);
  expect((await agent.put(OPERATORS).send({ email: 'nobody@example.com' })).status).toBe(404);
});
