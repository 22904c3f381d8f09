import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { openDatabase } from '@tocsin/db/database/open';
import { deleteUser } from '@tocsin/db/users/users';
import { until } from '@tocsin/embedded/testing/until';
import { browser, newSignedInUser, newUser, PASSWORD, signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { authSecret } from './auth-options.ts';

const ME = '/api/dashboard/me';
const SIGN_IN = '/api/auth/sign-in/email';

const secretsKey = randomBytes(32);
let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ secretsKey, settings: { defaultRegion: 'eu-west' } });
});
afterAll(() => api.close());

const cookiesOf = (headers: Record<string, unknown>): string[] => (headers['set-cookie'] ?? []) as string[];

describe('signing in', () => {
  test('opens the dashboard API as the user of the account', async () => {
    const { id, email } = await newUser(api, { role: 'member' });
    const agent = browser(api);
    expect((await agent.post(SIGN_IN).send({ email, password: PASSWORD })).status).toBe(200);
    const response = await agent.get(ME);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      user: { id, name: 'Test user', email, role: 'member', createdAt: expect.any(String) },
      account: { id: api.account.id, name: 'Test', defaultRegion: 'eu-west' },
    });
    expect(response.headers['cache-control']).toBe('no-store');
    expect((await agent.get('/api/dashboard/monitors')).body).toEqual({ monitors: [] });
  });

  test('ignores the case of the address, and refuses a wrong password and an unknown address alike', async () => {
    const { email } = await newUser(api);
    const good = await browser(api).post(SIGN_IN).send({ email: email.toUpperCase(), password: PASSWORD });
    expect(good.status).toBe(200);
    const wrong = await browser(api)
      .post(SIGN_IN)
      .send({ email, password: `${PASSWORD}!` });
    const unknown = await browser(api)
      .post(SIGN_IN)
      .send({ email: 'nobody@example.com', password: PASSWORD });
    expect([wrong.status, wrong.body]).toEqual([unknown.status, unknown.body]);
    expect(wrong.status).toBe(401);
    expect(cookiesOf(wrong.headers)).toEqual([]);
  });

  test('sets a cookie that scripts and other sites cannot read', async () => {
    const { email } = await newUser(api);
    const { headers } = await browser(api).post(SIGN_IN).send({ email, password: PASSWORD });
    expect(cookiesOf(headers)).toEqual([
      expect.stringMatching(/^tocsin\.session_token=[^;]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/),
      expect.stringMatching(
        /^tocsin\.known_device=[^;]+; Max-Age=15552000; Path=\/api\/auth\/sign-in\/email; HttpOnly; SameSite=Strict$/,
      ),
    ]);
  });

  test('does not mix credentials: a key cannot use the dashboard API, a cookie cannot use /api/cli', async () => {
    expect((await api.as().get(ME)).status).toBe(401);
    const agent = await signIn(api);
    expect((await agent.get('/api/cli/monitors')).status).toBe(401);
  });

  test('without a session or with a forged cookie: 401 as a problem', async () => {
    for (const cookie of ['', 'tocsin.session_token=abc', 'tocsin.session_token=abc.def', 'a=b']) {
      const response = await browser(api).get(ME).set('Cookie', cookie);
      expect(response.status).toBe(401);
      expect(response.type).toBe('application/problem+json');
      expect(response.body).toMatchObject({ type: 'urn:tocsin:problem:not-signed-in' });
    }
  });

  test('is not possible with a token from the database without its signature', async () => {
    await signIn(api);
    const { rows } = await api.database.pool.query<{ token: string }>('select token from sessions');
    for (const { token } of rows) {
      const response = await browser(api).get(ME).set('Cookie', `tocsin.session_token=${token}`);
      expect(response.status).toBe(401);
    }
  });
});

describe('a session in use', () => {
  test('is extended after a day, and so is its cookie', async () => {
    const { agent, id } = await newSignedInUser(api);
    expect((await agent.get(ME)).headers).not.toHaveProperty('set-cookie');
    const { pool } = api.database;
    await pool.query(`update sessions set expires_at = now() + interval '5 days' where user_id = $1`, [id]);
    const { headers } = await agent.get(ME);
    expect(cookiesOf(headers)).toEqual([expect.stringContaining('Max-Age=604800')]);
    const { rows } = await pool.query(
      `select expires_at > now() + interval '6 days' as prolonged from sessions where user_id = $1`,
      [id],
    );
    expect(rows).toEqual([{ prolonged: true }]);
    expect((await agent.get(ME)).status).toBe(200);
  });
});

describe('a session ends with the next request', () => {
  test('when its user signs out', async () => {
    const { agent, cookie } = await newSignedInUser(api);
    expect((await browser(api).get(ME).set('Cookie', cookie)).status).toBe(200);
    expect((await agent.post('/api/auth/sign-out')).status).toBe(200);
    expect((await agent.get(ME)).status).toBe(401);
    expect((await browser(api).get(ME).set('Cookie', cookie)).status).toBe(401);
  });

  test('when the user is removed', async () => {
    await signIn(api);
    const { agent, id } = await newSignedInUser(api);
    expect((await agent.get(ME)).status).toBe(200);
    await deleteUser(api.context.db, systemActor(api.account.id), id);
    expect((await agent.get(ME)).status).toBe(401);
  });

  test('when it expires', async () => {
    const { agent, id } = await newSignedInUser(api);
    await api.database.pool.query(`update sessions set expires_at = now() where user_id = $1`, [id]);
    expect((await agent.get(ME)).status).toBe(401);
  });

  test('when the password is changed in another session, which continues', async () => {
    const { agent: elsewhere, email } = await newSignedInUser(api);
    const agent = browser(api);
    await agent.post(SIGN_IN).send({ email, password: PASSWORD });
    const change = {
      currentPassword: PASSWORD,
      newPassword: 'another long password',
      revokeOtherSessions: true,
    };
    const wrong = await agent
      .post('/api/auth/change-password')
      .send({ ...change, currentPassword: 'wrong one' });
    expect(wrong.status).toBe(400);
    expect((await agent.post('/api/auth/change-password').send(change)).status).toBe(200);
    expect((await agent.get(ME)).status).toBe(200);
    expect((await elsewhere.get(ME)).status).toBe(401);
    const old = await browser(api).post(SIGN_IN).send({ email, password: PASSWORD });
    const fresh = await browser(api).post(SIGN_IN).send({ email, password: change.newPassword });
    expect([old.status, fresh.status]).toEqual([401, 200]);
  });

  test('even if the change of password did not request it', async () => {
    const { agent: elsewhere, email } = await newSignedInUser(api);
    const agent = browser(api);
    await agent.post(SIGN_IN).send({ email, password: PASSWORD });
    const change = { currentPassword: PASSWORD, newPassword: 'another long password' };
    expect((await agent.post('/api/auth/change-password').send(change)).status).toBe(200);
    expect((await elsewhere.get(ME)).status).toBe(401);
    expect((await agent.get(ME)).status).toBe(200);
  });
});

describe('over https', () => {
  test('the cookie is for https only, by its name and flag', async () => {
    const publicUrl = 'https://tocsin.example.com';
    const secure = await openTestApi({ settings: { publicUrl } });
    try {
      const { email } = await newUser(secure);
      const response = await browser(secure)
        .post(SIGN_IN)
        .set('Origin', publicUrl)
        .send({ email, password: PASSWORD });
      expect(cookiesOf(response.headers)).toEqual([
        expect.stringMatching(/^__Secure-tocsin\.session_token=.*; HttpOnly; Secure; SameSite=Lax$/),
        expect.stringMatching(/^__Secure-tocsin\.known_device=.*; HttpOnly; Secure; SameSite=Strict$/),
      ]);
    } finally {
      await secure.close();
    }
  });
});

describe('without a database', () => {
  test('503 without the cause', async () => {
    const { db } = openDatabase({
      url: 'postgres://nobody@127.0.0.1:1/none',
      poolSize: 1,
      applicationName: 'test',
      onIdleError: () => undefined,
    });
    // With the same secret, the signature of the cookie is valid and the session is looked up.
    const dark = await openTestApi({ db, secretsKey });
    try {
      const { cookie } = await newSignedInUser(api);
      const response = await browser(dark).get(ME).set('Cookie', cookie);
      expect(response.status).toBe(503);
      expect(response.text).not.toMatch(/ECONNREFUSED|select/);
      const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
      const signIn = await browser(dark).post(SIGN_IN).send({ email: 'a@example.com', password: PASSWORD });
      expect([signIn.status, signIn.type]).toEqual([503, 'application/problem+json']);
      expect(printed).not.toHaveBeenCalled();
      printed.mockRestore();
    } finally {
      await dark.close();
    }
  });
});

test('a broken Postgres connection during the look-up of a session does not fail the request', async () => {
  const { agent } = await newSignedInUser(api);
  const { pool } = api.database;
  const holder = await pool.connect();
  try {
    // On a slow machine the transaction may be idle for longer than the usual limit.
    await holder.query('set idle_in_transaction_session_timeout = 0');
    await holder.query('begin');
    await holder.query('lock table sessions in access exclusive mode');
    const pending = agent.get(ME).then(({ status }) => status);
    const ended = await until('the session is looked up', async () => {
      const { rowCount } = await holder.query(
        // The table has the same oid in the databases of other tests.
        `select pg_terminate_backend(pid) from pg_locks where not granted and relation = 'sessions'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
      );
      return (rowCount ?? 0) > 0;
    });
    await holder.query('rollback');
    expect([ended, await pending]).toEqual([true, 200]);
  } finally {
    holder.release(true);
  }
});

test('the secret depends on the current key only', () => {
  const [a, b] = [randomBytes(32), randomBytes(32)];
  expect(authSecret([a, b])).toBe(authSecret([a]));
  expect(authSecret([b, a])).not.toBe(authSecret([a, b]));
  expect(authSecret([a])).not.toContain(a.toString('base64'));
});
