import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { openDatabase } from '@tocsin/db/database/open';
import { deleteUser } from '@tocsin/db/users/change-users';
import { until } from '@tocsin/embedded/testing/until';
import type supertest from 'supertest';
import { browser, newSignedInUser, newUser, PASSWORD, signIn } from '../testing/sign-in.ts';
import { openTestApi, ORIGIN, type TestApi } from '../testing/test-api.ts';
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
  test('is extended after a day, also in the cookie', async () => {
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
    await deleteUser(api.context.db, api.account.id, id);
    expect((await agent.get(ME)).status).toBe(401);
  });

  test('when it expires', async () => {
    const { agent, id } = await newSignedInUser(api);
    await api.database.pool.query(`update sessions set expires_at = now() where user_id = $1`, [id]);
    expect((await agent.get(ME)).status).toBe(401);
  });

  test('when the password was changed elsewhere, where the session continues', async () => {
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

describe('a new password', () => {
  test.each([
    ['a NUL', 'another long\0password', /NUL/],
    ['a lone surrogate', 'another long\ud800password', /lone surrogate/],
    ['too few characters', 'short', /at least 8/],
    ['too many characters', 'x'.repeat(129), /at most 128/],
    ['none', undefined, /required/],
  ])('with %s: 400, and the old one stays', async (_, newPassword, message) => {
    const { agent, email } = await newSignedInUser(api);
    const change = { currentPassword: PASSWORD, newPassword };
    const response = await agent.post('/api/auth/change-password').send(change);
    expect([response.status, response.body]).toEqual([
      400,
      expect.objectContaining({
        errors: [{ path: 'newPassword', message: expect.stringMatching(message) }],
      }),
    ]);
    expect((await agent.get(ME)).status).toBe(200);
    expect((await browser(api).post(SIGN_IN).send({ email, password: PASSWORD })).status).toBe(200);
  });
});

describe('unused routes of better-auth', () => {
  test.each([
    '/sign-up/email',
    '/update-user',
    '/update-session',
    '/delete-user',
    '/delete-user/callback',
    '/change-email',
    '/set-password',
    '/verify-password',
    '/request-password-reset',
    '/reset-password',
    '/reset-password/token',
    '/send-verification-email',
    '/verify-email',
    '/link-social',
    '/unlink-account',
    '/list-accounts',
    '/account-info',
    '/refresh-token',
    '/get-access-token',
    '/revoke-sessions',
    '/ok',
    '/error',
    '/sign-in/social',
    '/callback/oidc',
    '/callback/%2e%2e',
  ])('are not found: %s', async (path) => {
    const { agent, email } = await newSignedInUser(api);
    const body = { email, name: 'x', password: PASSWORD, role: 'owner', provider: 'oidc' };
    for (const response of [
      await agent.post(`/api/auth${path}`).send(body),
      await agent.get(`/api/auth${path}`),
    ])
      expect([response.status, response.type]).toEqual([404, 'application/problem+json']);
  });
});

describe('undocumented fields', () => {
  const change = { currentPassword: PASSWORD, newPassword: 'another long password' };
  test.each([
    ['/sign-in/email', { password: PASSWORD, rememberMe: false }, 'rememberMe'],
    ['/sign-in/email', { password: PASSWORD, callbackURL: '/x' }, 'callbackURL'],
    ['/sign-out', { callbackURL: 'https://evil.example/' }, 'callbackURL'],
    ['/sign-out', { state: 'x' }, 'state'],
    ['/change-password', { ...change, userId: 'x' }, 'userId'],
    ['/revoke-session', { token: 'x', userId: 'x' }, 'userId'],
    ['/revoke-other-sessions', { userId: 'x' }, 'userId'],
  ])('of POST %s: 400 for %j', async (path, fields, field) => {
    const { agent, email } = await newSignedInUser(api);
    const body = path === '/sign-in/email' ? { email, ...fields } : fields;
    const response = await agent.post(`/api/auth${path}`).send(body);
    expect([response.status, response.body]).toEqual([
      400,
      expect.objectContaining({ errors: [{ path: field, message: expect.any(String) }] }),
    ]);
    expect(response.headers).not.toHaveProperty('set-cookie');
    expect((await agent.get(ME)).status).toBe(200);
    expect((await browser(api).post(SIGN_IN).send({ email, password: PASSWORD })).status).toBe(200);
  });

  test.each(['get-session?disableRefresh=true', 'get-session?disableCookieCache=true', 'list-sessions?a=b'])(
    'of a query: 400 for %s',
    async (path) => {
      const { agent } = await newSignedInUser(api);
      const response = await agent.get(`/api/auth/${path}`);
      expect([response.status, response.type]).toEqual([400, 'application/problem+json']);
    },
  );

  test('a form is not JSON: 415', async () => {
    const { email } = await newUser(api);
    const response = await browser(api).post(SIGN_IN).type('form').send({ email, password: PASSWORD });
    expect([response.status, response.type]).toEqual([415, 'application/problem+json']);
  });

  test('all invalid fields are reported at once', async () => {
    const response = await browser(api).post(SIGN_IN).send({ email: 'nobody', password: 1, x: 1 });
    expect(response.status).toBe(400);
    expect((response.body as { errors: { path: string }[] }).errors.map(({ path }) => path)).toEqual([
      'email',
      'password',
      'x',
    ]);
  });
});

describe('a body', () => {
  const stream = (bytes: number): Promise<Response> =>
    fetch(`http://127.0.0.1:${api.port}${SIGN_IN}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: ORIGIN },
      body: new Blob([' '.repeat(bytes), '{}']).stream(),
      duplex: 'half',
    });

  test('that is too long: 413, with and without Content-Length', async () => {
    const long = await browser(api)
      .post(SIGN_IN)
      .send({ email: 'a@example.com', password: 'x'.repeat(256 * 1024) });
    expect([long.status, long.type]).toEqual([413, 'application/problem+json']);
    expect((await stream(256 * 1024)).status).toBe(413);
    // The body is read, but fields are missing.
    expect((await stream(0)).status).toBe(400);
  });

  test('that its client does not finish is no server error', async () => {
    const said = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const socket = connect(api.port, '127.0.0.1');
    const received = text(socket);
    socket.end(
      `POST ${SIGN_IN} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    );
    await received;
    await browser(api).post(SIGN_IN).send({ email: 'a@example.com', password: PASSWORD });
    expect(said).not.toHaveBeenCalled();
    said.mockRestore();
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

describe('guessing passwords', () => {
  test('is limited by address, whatever address the client claims', async () => {
    const slow = await openTestApi({ limitSignIn: true });
    // The clock of the limiter is stopped, because it forgets attempts after a few seconds.
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now);
    try {
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 6; attempt += 1) {
        const response = await browser(slow)
          .post(SIGN_IN)
          .set('X-Forwarded-For', `203.0.113.${attempt}`)
          .set('X-Tocsin-Client-Ip', `203.0.113.${attempt}`)
          .send({ email: 'a@example.com', password: 'wrong password' });
        statuses.push(response.status);
      }
      expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
    } finally {
      clock.mockRestore();
      await slow.close();
    }
  });
});

describe('guessing the password of one user from many addresses', () => {
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
  /** The cookie that makes a device known. */
  const deviceOf = (response: { headers: Record<string, unknown> }): string =>
    cookiesOf(response.headers)[1]?.split(';', 1)[0] ?? '';
  const enter = ({ email, from, password = PASSWORD, cookie = '' }: Attempt): supertest.Test =>
    browser(guarded).post(SIGN_IN).set({ 'X-Forwarded-For': from, Cookie: cookie }).send({ email, password });

  /** The ten failures that make new networks take turns. @returns the statuses, and the responses to two more attempts */
  async function attack(email: string, prefix: string): Promise<unknown> {
    const guess = (network: number, spelled = email): supertest.Test =>
      enter({ email: spelled, from: `${prefix}.${network}.1`, password: 'wrong one' });
    const statuses: number[] = [];
    for (let network = 0; network < 11; network += 1) {
      const { status } = await guess(network, network % 2 === 0 ? email : ` ${email.toUpperCase()} `);
      statuses.push(status);
    }
    const { status, body, headers } = await guess(99);
    const { instance: _, ...problem } = body as Record<string, unknown>;
    return { statuses, status, problem, retryAfter: headers['retry-after'] };
  }

  test('is slowed down for existing and unknown users alike; the user signs in soon, and at once with a known device', async () => {
    const { email } = await newUser(guarded);
    const { email: other } = await newUser(guarded);
    const known = await enter({ email, from: '192.0.2.1' });
    const attacked = await attack(email, '10.1');
    expect(attacked).toEqual({
      statuses: Array.from({ length: 11 }, () => 401),
      status: 429,
      problem: expect.objectContaining({ type: 'urn:tocsin:problem:rate-limited' }),
      retryAfter: '5',
    });
    expect(await attack('nobody@example.com', '10.2')).toEqual(attacked);

    const device = deviceOf(known);
    const refused = await enter({ email, from: '203.0.113.1' });
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '10']);
    expect((await enter({ email, from: '192.0.2.3', cookie: `${device}x` })).status).toBe(429);
    expect((await enter({ email, from: '192.0.2.4', cookie: device })).status).toBe(200);
    expect((await enter({ email: other, from: '192.0.2.5' })).status).toBe(200);
    now += 10_000;
    expect((await enter({ email, from: '203.0.113.2' })).status).toBe(200);
  });

  test('attempts whose password is not checked delay no other attempt', async () => {
    const { email } = await newUser(guarded);
    let status = 0;
    for (let network = 0; status !== 429; network += 1)
      ({ status } = await enter({ email, from: `10.3.${network}.1`, password: 'wrong one' }));
    now += 60_000;
    const forged = await enter({ email, from: '198.51.100.1' }).set('Origin', 'https://evil.example');
    expect(forged.status).toBe(403);
    expect((await enter({ email, from: '203.0.113.3' })).status).toBe(200);
  });

  test('a device is known only as the user who signed in with it', async () => {
    const { email } = await newUser(guarded);
    const { email: own } = await newUser(guarded);
    const cookie = deviceOf(await enter({ email: own, from: '192.0.2.7' }));
    await attack(email, '10.4');
    expect((await enter({ email, from: '203.0.113.4', cookie })).status).toBe(429);
  });

  test('a device is known until the password changes', async () => {
    const { email, agent } = await newSignedInUser(guarded);
    const cookie = deviceOf(await enter({ email, from: '192.0.2.11' }));
    const change = { currentPassword: PASSWORD, newPassword: 'another long password' };
    expect((await agent.post('/api/auth/change-password').send(change)).status).toBe(200);
    await attack(email, '10.5');
    const signIn = { email, password: change.newPassword };
    expect((await enter({ ...signIn, from: '203.0.113.5', cookie })).status).toBe(429);
    now += 60_000;
    const again = deviceOf(await enter({ ...signIn, from: '203.0.113.6' }));
    await attack(email, '10.6');
    expect((await enter({ ...signIn, from: '203.0.113.7', cookie: again })).status).toBe(200);
  });

  test('a device keeps its id from one sign-in to the next', async () => {
    const { email } = await newUser(guarded);
    const idOf = (cookie: string): string => cookie.split('=')[1]?.split('.')[0] ?? '';
    const cookie = deviceOf(await enter({ email, from: '192.0.2.12' }));
    const next = deviceOf(await enter({ email, from: '192.0.2.13', cookie }));
    expect(idOf(next)).toBe(idOf(cookie));
    expect(idOf(deviceOf(await enter({ email, from: '192.0.2.14' })))).not.toBe(idOf(cookie));
  });

  test('from one address does not delay another address', async () => {
    const { email } = await newUser(guarded);
    const from = '192.0.2.9';
    for (let time = 0; time < 30; time += 1) await enter({ email, from, password: 'wrong one' });
    expect((await enter({ email, from: '203.0.113.10' })).status).toBe(200);
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
