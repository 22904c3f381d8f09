import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { openDatabase } from '@tocsin/db/database/open';
import { until } from '@tocsin/embedded/testing/until';
import type { Request } from 'express';
import type supertest from 'supertest';
import { browser, newSignedInUser, newUser, PASSWORD, signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi, useTestApi } from '../testing/test-api.ts';
import { authSecret } from './auth-options.ts';
import { KnownDevices } from './known-devices.ts';

const ME = '/api/dashboard/me';
const SIGN_IN = '/api/auth/sign-in/email';
const CHANGE_PASSWORD = '/api/auth/change-password';

const secretsKey = randomBytes(32);
const api = await useTestApi({ secretsKey, settings: { defaultRegion: 'eu-west' } });

const cookiesOf = (headers: Record<string, unknown>): string[] => (headers['set-cookie'] ?? []) as string[];
const enter = async (email: string, password = PASSWORD): Promise<supertest.Response> =>
  browser(api).post(SIGN_IN).send({ email, password });

describe('signing in', () => {
  test('opens the dashboard API with a cookie that scripts and other sites cannot read', async () => {
    const { id, email } = await newUser(api, { role: 'member' });
    const agent = browser(api);
    const signedIn = await agent.post(SIGN_IN).send({ email: email.toUpperCase(), password: PASSWORD });
    expect([signedIn.status, cookiesOf(signedIn.headers)]).toEqual([
      200,
      [
        expect.stringMatching(
          /^tocsin\.session_token=[^;]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/,
        ),
        expect.stringMatching(
          /^tocsin\.known_device=[^;]+; Max-Age=15552000; Path=\/api\/auth\/sign-in\/email; HttpOnly; SameSite=Strict$/,
        ),
      ],
    ]);
    const response = await agent.get(ME);
    expect([response.status, response.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(response.body).toEqual({
      user: { id, name: 'Test user', email, role: 'member', fromGroup: false, createdAt: expect.any(String) },
      isOperator: false,
      account: {
        id: api.account.id,
        name: 'Test',
        slug: expect.any(String),
        defaultRegion: 'eu-west',
      },
    });
  });

  test('fails alike with a wrong password and an unknown address', async () => {
    const { email } = await newUser(api);
    const wrong = await enter(email, `${PASSWORD}!`);
    expect([wrong.status, cookiesOf(wrong.headers)]).toEqual([401, []]);
    expect((await enter('nobody@example.com')).body).toEqual(wrong.body);
  });

  test('is not replaced by a forged cookie, nor by a token of the database without its signature', async () => {
    await signIn(api);
    const { rows } = await api.database.pool.query<{ token: string }>('select token from sessions limit 1');
    for (const token of ['abc', 'abc.def', rows[0]?.token]) {
      const response = await browser(api).get(ME).set('Cookie', `tocsin.session_token=${token}`);
      expect(response.type).toBe('application/problem+json');
      expect(response.body).toMatchObject({ status: 401, type: 'urn:tocsin:problem:not-signed-in' });
    }
  });

  test('uses a secret that depends on the current key only', () => {
    const [a, b] = [randomBytes(32), randomBytes(32)];
    expect(authSecret([a, b])).toBe(authSecret([a]));
    expect(authSecret([b, a])).not.toBe(authSecret([a, b]));
    expect(authSecret([a])).not.toContain(a.toString('base64'));
  });
});

test('a session in use is extended after a day, and so is its cookie', async () => {
  const { agent, id } = await newSignedInUser(api);
  expect((await agent.get(ME)).headers).not.toHaveProperty('set-cookie');
  const { pool } = api.database;
  await pool.query(`update sessions set expires_at = now() + interval '5 days' where user_id = $1`, [id]);
  const { headers } = await agent.get(ME);
  expect(cookiesOf(headers)).toEqual([expect.stringContaining('Max-Age=604800')]);
  const { rows } = await pool.query(
    `select expires_at > now() + interval '6 days' as extended from sessions where user_id = $1`,
    [id],
  );
  expect(rows).toEqual([{ extended: true }]);
  expect((await agent.get(ME)).status).toBe(200);
});

describe('a session ends with the next request', () => {
  test('when its user signs out, and when it expires', async () => {
    const { agent, cookie } = await newSignedInUser(api);
    expect((await agent.post('/api/auth/sign-out')).status).toBe(200);
    expect((await browser(api).get(ME).set('Cookie', cookie)).status).toBe(401);
    const expired = await newSignedInUser(api);
    const expire = `update sessions set expires_at = now() where user_id = $1`;
    await api.database.pool.query(expire, [expired.id]);
    expect((await expired.agent.get(ME)).status).toBe(401);
  });

  test('when the password is changed in another session, which continues', async () => {
    const { agent: elsewhere, email } = await newSignedInUser(api);
    const agent = browser(api);
    await agent.post(SIGN_IN).send({ email, password: PASSWORD });
    const change = { currentPassword: PASSWORD, newPassword: 'another long password' };
    const wrong = await agent.post(CHANGE_PASSWORD).send({ ...change, currentPassword: 'wrong one' });
    expect(wrong.status).toBe(400);
    expect((await agent.post(CHANGE_PASSWORD).send(change)).status).toBe(200);
    expect((await agent.get(ME)).status).toBe(200);
    expect((await elsewhere.get(ME)).status).toBe(401);
    expect((await enter(email)).status).toBe(401);
    expect((await enter(email, change.newPassword)).status).toBe(200);
  });
});

test('without a database: 503 without the cause', async () => {
  const { db } = openDatabase({
    url: 'postgres://nobody@127.0.0.1:1/none',
    poolSize: 1,
    applicationName: 'test',
    onIdleError: () => undefined,
  });
  // With the same secret, the signature of the cookie is valid and the session is looked up.
  const dark = await openTestApi({ db, secretsKey });
  const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
  try {
    const { cookie } = await newSignedInUser(api);
    const response = await browser(dark).get(ME).set('Cookie', cookie);
    expect(response.status).toBe(503);
    expect(response.text).not.toMatch(/ECONNREFUSED|select/);
    const signIn = await browser(dark).post(SIGN_IN).send({ email: 'a@example.com', password: PASSWORD });
    expect([signIn.status, signIn.type]).toEqual([503, 'application/problem+json']);
    expect(printed).not.toHaveBeenCalled();
  } finally {
    printed.mockRestore();
    await dark.close();
  }
});

test('a connection to Postgres that breaks during the look-up of a session does not fail the request', async () => {
  const { agent } = await newSignedInUser(api);
  const holder = await api.database.pool.connect();
  try {
    // On a slow machine the transaction may be idle for longer than the usual limit.
    await holder.query('set idle_in_transaction_session_timeout = 0');
    await holder.query('begin');
    await holder.query('lock table sessions in access exclusive mode');
    const pending = agent.get(ME).then(({ status }) => status);
    await until('the session is looked up', async () => {
      const { rowCount } = await holder.query(
        // The table has the same oid in the databases of other tests.
        `select pg_terminate_backend(pid) from pg_locks where not granted and relation = 'sessions'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
      );
      return (rowCount ?? 0) > 0;
    });
    await holder.query('rollback');
    expect(await pending).toBe(200);
  } finally {
    holder.release(true);
  }
});

describe('guessing passwords', () => {
  let guarded: TestApi;
  let now = 0;
  beforeAll(async () => {
    guarded = await openTestApi({ limitSignIn: true, now: () => now, settings: { trustProxy: 1 } });
  });
  afterAll(() => guarded.close());

  interface Attempt {
    readonly email: string;
    readonly from: string;
    readonly password?: string;
    readonly cookie?: string;
  }
  const attempt = ({ email, from, password = PASSWORD, cookie = '' }: Attempt): supertest.Test =>
    browser(guarded).post(SIGN_IN).set({ 'X-Forwarded-For': from, Cookie: cookie }).send({ email, password });

  /** Fails ten times, after which new networks need reservations. @returns the statuses, and the responses to two more attempts */
  async function attack(email: string, prefix: string): Promise<unknown> {
    const guess = (network: number, spelled = email): supertest.Test =>
      attempt({ email: spelled, from: `${prefix}.${network}.1`, password: 'wrong one' });
    const statuses: number[] = [];
    for (let network = 0; network < 11; network += 1) {
      const { status } = await guess(network, network % 2 === 0 ? email : ` ${email.toUpperCase()} `);
      statuses.push(status);
    }
    const { status, body, headers } = await guess(99);
    const { instance: _, ...problem } = body as Record<string, unknown>;
    return { statuses, status, problem, retryAfter: headers['retry-after'] };
  }

  test('from many addresses is slowed down for existing and unknown users alike; the user signs in soon, and at once with a known device', async () => {
    const { email } = await newUser(guarded);
    const { email: other } = await newUser(guarded);
    const known = await attempt({ email, from: '192.0.2.1' });
    const attacked = await attack(email, '10.1');
    expect(attacked).toEqual({
      statuses: Array.from({ length: 11 }, () => 401),
      status: 429,
      problem: expect.objectContaining({ type: 'urn:tocsin:problem:rate-limited' }),
      retryAfter: '5',
    });
    expect(await attack('nobody@example.com', '10.2')).toEqual(attacked);

    const [device = ''] = cookiesOf(known.headers)[1]?.split(';', 1) ?? [];
    const refused = await attempt({ email, from: '203.0.113.1' });
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '10']);
    expect((await attempt({ email, from: '192.0.2.3', cookie: `${device}x` })).status).toBe(429);
    const again = await attempt({ email, from: '192.0.2.4', cookie: device });
    expect(again.status).toBe(200);
    const idOf = (cookie = ''): string | undefined => cookie.split('=')[1]?.split('.')[0];
    expect(idOf(cookiesOf(again.headers)[1])).toBe(idOf(device));
    expect((await attempt({ email: other, from: '192.0.2.5' })).status).toBe(200);
    now += 10_000;
    expect((await attempt({ email, from: '203.0.113.2' })).status).toBe(200);
    // An attempt whose password is not checked delays no other attempt.
    now += 60_000;
    const forged = await attempt({ email, from: '198.51.100.1' }).set('Origin', 'https://evil.example');
    expect(forged.status).toBe(403);
    expect((await attempt({ email, from: '203.0.113.3' })).status).toBe(200);
  });

  test('is limited by address, whatever address the client claims', async () => {
    const direct = await openTestApi({ limitSignIn: true });
    // The clock of the limiter is stopped, because it forgets attempts after a few seconds.
    const stopped = Date.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => stopped);
    try {
      const statuses: number[] = [];
      for (let claimed = 0; claimed < 5; claimed += 1) {
        const address = `203.0.113.${claimed}`;
        const { status } = await browser(direct)
          .post(SIGN_IN)
          .set({ 'X-Forwarded-For': address, 'X-Tocsin-Client-Ip': address })
          .send({ email: 'a@example.com', password: 'wrong password' });
        statuses.push(status);
      }
      expect(statuses).toEqual([401, 401, 401, 429, 429]);
    } finally {
      clock.mockRestore();
      await direct.close();
    }
  });
});

test('a device is known only as the user who signed in with it, and until the password changes', async () => {
  const { id: userId, email } = await newUser(api);
  const { email: other } = await newUser(api);
  const devices = new KnownDevices({
    db: api.context.db,
    secret: api.sessionSecret,
    publicUrl: 'http://localhost',
  });
  const find = (cookie: string, user = email): Promise<string | null> =>
    devices.find({ get: () => `a=b; ${cookie.split(';', 1)[0] ?? ''}` } as unknown as Request, user);
  const cookie = await devices.cookieFor(email, null);
  const id = await find(cookie);
  expect(id).toEqual(expect.any(String));
  expect(await find(await devices.cookieFor(email, id))).toBe(id);
  expect(await find(await devices.cookieFor(email, null))).not.toBe(id);
  expect(await find(cookie, other)).toBeNull();
  const change = `update user_logins set password_hash = 'new' where user_id = $1`;
  await api.database.pool.query(change, [userId]);
  expect(await find(cookie)).toBeNull();
  expect(await find(await devices.cookieFor(email, id))).toBe(id);
});
