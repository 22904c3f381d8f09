import { beforeEach, describe, expect, test } from '@jest/globals';
import { generateApiKey, hashToken } from '@tocsin/core/secrets/tokens';
import { createAccount, deleteAccount, ensureFirstAccount } from '@tocsin/db/accounts/accounts';
import { deleteApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { acceptInvitation, createInvitation, renewSetupInvitation } from '@tocsin/db/users/invitations';
import { users } from '@tocsin/db/users/table';
import { deleteUser, findUserByEmail } from '@tocsin/db/users/users';
import { captureLog } from '@tocsin/runtime/testing/captured-log';
import { MONITORS } from '../testing/monitors.ts';
import { browser, newUser } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';
import { ensureAdmin, ensureApiKeys } from './bootstrap.ts';

const EMAIL = 'admin@example.com';
const PASSWORD = 'the first password';

/** A failed sign-in is recorded after its response. This waits for that, because recording locks the clock before the account. */
const DELETE_ACCOUNTS =
  'begin; lock table audit_clocks in exclusive mode; delete from accounts; delete from users; commit';

let log: ReturnType<typeof captureLog>;
const api = await useTestApi();
/** Each test begins as at the first start of a service. */
beforeEach(async () => {
  await api.database.pool.query(DELETE_ACCOUNTS);
  log = captureLog();
});

describe('the user of the settings', () => {
  const ensure = (email?: string, password?: string): Promise<void> =>
    ensureAdmin(
      api.context.db,
      { BOOTSTRAP_ADMIN_EMAIL: email, BOOTSTRAP_ADMIN_PASSWORD: password },
      log.logger,
    );
  const signInWith = async (password: string, agent = browser(api)): Promise<number> =>
    (await agent.post('/api/auth/sign-in/email').send({ email: EMAIL, password })).status;

  test('exists after the start as an owner of the first account, once for several processes', async () => {
    await Promise.all([1, 2, 3].map(() => ensure(EMAIL, PASSWORD)));
    const agent = browser(api);
    expect(await signInWith(PASSWORD, agent)).toBe(200);
    const me = await agent.get('/api/dashboard/me');
    expect(me.body).toMatchObject({ user: { email: EMAIL, role: 'owner', name: 'admin' } });
    expect((await api.database.pool.query('select from users')).rowCount).toBe(1);
  });

  test('keeps an existing password', async () => {
    await ensure(EMAIL, PASSWORD);
    await ensure(EMAIL, 'another password');
    await ensure(EMAIL);
    expect([await signInWith(PASSWORD), await signInWith('another password')]).toEqual([200, 401]);
  });

  test('stays removed, with one warning at each start, until an invitation is accepted', async () => {
    await ensure(EMAIL, PASSWORD);
    const { db } = api.context;
    const { id } = (await findUserByEmail(db, EMAIL)) ?? { id: '' };
    const { id: accountId } = await ensureFirstAccount(db);
    await db.update(users).set({ isOperator: false });
    const { id: createdBy } = await newUser(api, { accountId });
    await deleteUser(db, systemActor(accountId), id);
    log = captureLog();
    await ensure(EMAIL.toUpperCase(), PASSWORD);
    expect(log.text().match(/"level":"warn"/g)).toHaveLength(1);
    expect(log.text()).toContain('BOOTSTRAP_ADMIN_EMAIL was removed');
    expect(await findUserByEmail(db, EMAIL)).toBeNull();
    const actor = userActor(accountId, createdBy, 'Ada');
    const { token } = await createInvitation(db, actor, { role: 'member', email: EMAIL });
    await acceptInvitation(db, { token, name: 'Ada', email: null, passwordHash: 'hash' });
    await api.database.pool.query('delete from users where email = $1', [EMAIL]);
    await ensure(EMAIL, PASSWORD);
    expect(await findUserByEmail(db, EMAIL)).toMatchObject({ isOperator: true });
  });

  test('stays removed after all accounts that they were in were deleted', async () => {
    await ensure(EMAIL, PASSWORD);
    const { db } = api.context;
    const { id: accountId } = await ensureFirstAccount(db);
    await db.update(users).set({ isOperator: false });
    await deleteAccount(db, systemActor(accountId), accountId, 'default');
    await api.database.pool.query('delete from accounts where id = $1', [accountId]);
    await ensure(EMAIL, PASSWORD);
    expect(log.text()).toContain('BOOTSTRAP_ADMIN_EMAIL was removed');
    expect(await findUserByEmail(db, EMAIL)).toBeNull();
  });

  test('is not an existing user whose address is not verified', async () => {
    const { db } = api.context;
    const { id: accountId } = await ensureFirstAccount(db);
    await newUser(api, { accountId, email: EMAIL });
    await db.update(users).set({ emailVerified: false });
    await ensure(EMAIL, PASSWORD);
    expect(log.text()).toContain('not verified');
    expect(await findUserByEmail(db, EMAIL)).toMatchObject({ isOperator: false });
  });

  test('needs both variables, and the error names the missing one', async () => {
    await expect(ensure(EMAIL)).rejects.toThrow(/^Set BOOTSTRAP_ADMIN_PASSWORD/);
    await expect(ensure(undefined, PASSWORD)).rejects.toThrow(/^Set BOOTSTRAP_ADMIN_EMAIL/);
    await ensure();
  });
});

describe('the set-up link', () => {
  const renew = (): Promise<string | null> => renewSetupInvitation(api.context.db);
  const accept = async (token: string | null): Promise<{ status: number; body: unknown }> =>
    browser(api)
      .post('/api/dashboard/invitations/accept')
      .send({ token, name: 'Ada', email: 'ada@example.com', password: PASSWORD });

  test('creates the first owner, once, and replaces the link of the previous start', async () => {
    const [previous, token] = [await renew(), await renew()];
    expect((await accept(previous)).status).toBe(404);
    expect(await accept(token)).toMatchObject({
      status: 201,
      body: { user: { email: 'ada@example.com', role: 'owner' } },
    });
    expect((await accept(token)).status).toBe(410);
    expect(await renew()).toBeNull();
  });

  test('is not offered once the account has a user', async () => {
    const token = await renew();
    const { rows } = await api.database.pool.query<{ account_id: string }>(
      'select account_id from invitations',
    );
    await newUser(api, { accountId: rows[0]?.account_id ?? '' });
    expect((await accept(token)).status).toBe(410);
    expect(await renew()).toBeNull();
    expect((await api.database.pool.query('select from invitations')).rowCount).toBe(0);
  });
});

describe('the API keys of the settings', () => {
  const KEYS = { BOOTSTRAP_API_KEY: generateApiKey(), BOOTSTRAP_READ_KEY: generateApiKey() };

  async function statuses(key: string): Promise<number[]> {
    const read = await api.as(key).get(MONITORS);
    const written = await api.as(key).post(MONITORS).send({ name: 'a', url: 'http://a.example' });
    return [read.status, written.status];
  }

  test('exist after the start with their scopes on one account, even with several processes', async () => {
    await Promise.all([1, 2, 3].map(() => ensureApiKeys(api.context.db, KEYS, log.logger)));
    expect(await statuses(KEYS.BOOTSTRAP_API_KEY)).toEqual([200, 201]);
    expect(await statuses(KEYS.BOOTSTRAP_READ_KEY)).toEqual([200, 403]);
    const seen = await api.as(KEYS.BOOTSTRAP_READ_KEY).get(MONITORS);
    expect((seen.body as { monitors: unknown[] }).monitors).toHaveLength(1);
    expect(log.text().match(/Created the API key/g)).toHaveLength(2);
  });

  test('are not recreated once deleted, which logs one warning and does not stop the start', async () => {
    await ensureApiKeys(api.context.db, KEYS, log.logger);
    const { rows } = await api.database.pool.query<{ id: string; account_id: string }>(
      'select id, account_id from api_keys where hash = $1',
      [hashToken(KEYS.BOOTSTRAP_API_KEY)],
    );
    await deleteApiKey(api.context.db, systemActor(rows[0]?.account_id ?? ''), rows[0]?.id ?? '');
    log = captureLog();
    await ensureApiKeys(api.context.db, KEYS, log.logger);
    expect(log.text().match(/"level":"warn"/g)).toHaveLength(1);
    expect(log.text()).toContain('BOOTSTRAP_API_KEY was deleted');
    expect(log.text()).not.toContain(KEYS.BOOTSTRAP_API_KEY);
    expect(await statuses(KEYS.BOOTSTRAP_API_KEY)).toEqual([401, 401]);
  });
});

test('nothing of the settings gets into another account after the first one was deleted', async () => {
  const { db } = api.context;
  const { id } = await ensureFirstAccount(db);
  const other = await createAccount(db, systemActor(id), { name: 'Shop' });
  await deleteAccount(db, systemActor(id), id, 'default');
  await ensureApiKeys(db, { BOOTSTRAP_API_KEY: generateApiKey() }, log.logger);
  const admin = { BOOTSTRAP_ADMIN_EMAIL: EMAIL, BOOTSTRAP_ADMIN_PASSWORD: PASSWORD };
  await ensureAdmin(db, admin, log.logger);
  expect(log.text().match(/"level":"warn"/g)).toHaveLength(2);
  expect(await renewSetupInvitation(db)).toBeNull();
  for (const table of ['api_keys', 'memberships'])
    expect(
      (await api.database.pool.query(`select from ${table} where account_id = $1`, [other])).rows,
    ).toEqual([]);
});
