import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { deleteUser } from '@tocsin/db/users/users';
import { acceptInvitation, createInvitation, renewSetupInvitation } from '@tocsin/db/users/invitations';
import { findUserByEmail } from '@tocsin/db/users/users';
import { createLogger, createSilentLogger } from '@tocsin/runtime/logger';
import { browser, newUser } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { ensureAdmin } from './bootstrap.ts';

const EMAIL = 'admin@example.com';
const PASSWORD = 'the first password';
const logger = createSilentLogger();

/** A failed sign-in is recorded after its response. Waits for that: it locks the clock before the account. */
const DELETE_ACCOUNTS = 'begin; lock table audit_clocks in exclusive mode; delete from accounts; commit';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
/** Each test begins as at the first start of a service. */
beforeEach(() => api.database.pool.query(DELETE_ACCOUNTS));

const ensure = (email?: string, password?: string): Promise<void> =>
  ensureAdmin(api.context.db, { BOOTSTRAP_ADMIN_EMAIL: email, BOOTSTRAP_ADMIN_PASSWORD: password }, logger);

async function signInWith(password: string): Promise<number> {
  return (await browser(api).post('/api/auth/sign-in/email').send({ email: EMAIL, password })).status;
}

describe('the user of the settings', () => {
  test('exists after the start as an owner of the first account, once for several processes', async () => {
    await Promise.all([1, 2, 3].map(() => ensure(EMAIL, PASSWORD)));
    const agent = browser(api);
    await agent.post('/api/auth/sign-in/email').send({ email: EMAIL, password: PASSWORD });
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
    const { id, accountId } = (await findUserByEmail(db, EMAIL)) ?? { id: '', accountId: '' };
    const { id: createdBy } = await newUser(api, { accountId });
    await deleteUser(db, systemActor(accountId), id);
    let log = '';
    const stream = new PassThrough().setEncoding('utf8').on('data', (text: string) => (log += text));
    const settings = { BOOTSTRAP_ADMIN_EMAIL: EMAIL.toUpperCase(), BOOTSTRAP_ADMIN_PASSWORD: PASSWORD };
    await ensureAdmin(db, settings, createLogger({ service: 'test', format: 'json', stream }));
    expect(log.match(/"level":"warn"/g)).toHaveLength(1);
    expect(log).toContain('BOOTSTRAP_ADMIN_EMAIL was removed');
    expect(await signInWith(PASSWORD)).toBe(401);
    const { token } = await createInvitation(db, userActor(accountId, createdBy, 'Ada'), {
      role: 'member',
      email: EMAIL,
    });
    await acceptInvitation(db, { token, name: 'Ada', email: null, passwordHash: 'hash' });
    await api.database.pool.query('delete from users where email = $1', [EMAIL]);
    await ensure(EMAIL, PASSWORD);
    expect(await signInWith(PASSWORD)).toBe(200);
  });

  test('needs both variables; the error names the missing one', async () => {
    await expect(ensure(EMAIL)).rejects.toThrow(/^Set BOOTSTRAP_ADMIN_PASSWORD/);
    await expect(ensure(undefined, PASSWORD)).rejects.toThrow(/^Set BOOTSTRAP_ADMIN_EMAIL/);
    await ensure();
  });
});

describe('the set-up link', () => {
  const accept = async (token: string | null): Promise<{ status: number; body: unknown }> =>
    browser(api)
      .post('/api/dashboard/invitations/accept')
      .send({ token, name: 'Ada', email: 'ada@example.com', password: PASSWORD });

  test('creates the first owner, once', async () => {
    const token = await renewSetupInvitation(api.context.db);
    expect(await accept(token)).toMatchObject({
      status: 201,
      body: { user: { email: 'ada@example.com', role: 'owner' } },
    });
    expect((await accept(token)).status).toBe(410);
    expect(await renewSetupInvitation(api.context.db)).toBeNull();
  });

  test('replaces the link of the previous start', async () => {
    const [before, now] = [
      await renewSetupInvitation(api.context.db),
      await renewSetupInvitation(api.context.db),
    ];
    expect((await accept(before)).status).toBe(404);
    expect((await accept(now)).status).toBe(201);
  });

  test('is not offered once the account has a user', async () => {
    const token = await renewSetupInvitation(api.context.db);
    const { rows } = await api.database.pool.query<{ account_id: string }>(
      'select account_id from invitations',
    );
    await newUser(api, { accountId: rows[0]?.account_id ?? '' });
    expect((await accept(token)).status).toBe(410);
  });

  test('is not in the list of invitations', async () => {
    await renewSetupInvitation(api.context.db);
    await ensure(EMAIL, PASSWORD);
    expect(await renewSetupInvitation(api.context.db)).toBeNull();
    expect((await api.database.pool.query('select from invitations')).rowCount).toBe(0);
  });
});
