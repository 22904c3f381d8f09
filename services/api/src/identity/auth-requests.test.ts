import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { USER_HEADER } from '@tocsin/contracts/identity/user-header';
import { browser, newSignedInUser, newUser, PASSWORD } from '../testing/sign-in.ts';
import { openTestApi, ORIGIN, type TestApi } from '../testing/test-api.ts';
import { canonicalAddress } from './auth-request.ts';

const ME = '/api/dashboard/me';
const SIGN_IN = '/api/auth/sign-in/email';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

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

describe('a request of a page of another user', () => {
  const monitor = { name: 'a', url: 'https://a.example' };
  const change = { currentPassword: PASSWORD, newPassword: 'another long password' };

  test.each([
    ['/api/dashboard/monitors', monitor],
    ['/api/auth/change-password', change],
    ['/api/auth/revoke-other-sessions', {}],
    ['/api/auth/sign-out', {}],
  ])('POST %s: 401, and nothing changes', async (path, body) => {
    const [ada, bob] = [await newSignedInUser(api), await newSignedInUser(api)];
    const response = await bob.agent.post(path).set(USER_HEADER, ada.id).send(body);
    expect([response.status, response.body]).toEqual([
      401,
      expect.objectContaining({
        type: 'urn:tocsin:problem:not-signed-in',
        detail: expect.stringMatching(/does not belong to the user in X-Tocsin-User/),
      }),
    ]);
    expect((await bob.agent.get('/api/dashboard/monitors')).body).toEqual({ monitors: [] });
    const { email } = bob;
    expect((await browser(api).post(SIGN_IN).send({ email, password: PASSWORD })).status).toBe(200);
  });

  test('is accepted from a page of the same user', async () => {
    const { id, agent } = await newSignedInUser(api);
    for (const path of ['/api/auth/revoke-other-sessions', '/api/dashboard/monitors/delete']) {
      const body = path.endsWith('delete') ? { monitorIds: [id] } : {};
      expect((await agent.post(path).set(USER_HEADER, id).send(body)).status).toBe(200);
    }
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
    const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const socket = connect(api.port, '127.0.0.1');
    const received = text(socket);
    socket.end(
      `POST ${SIGN_IN} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    );
    await received;
    await browser(api).post(SIGN_IN).send({ email: 'a@example.com', password: PASSWORD });
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });
});

describe('the address of a client', () => {
  const FORMS: [string, string][] = [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['0000:0000:0000:0000:0000:0000:0000:0001', '::1'],
    ['2001:0DB8:0000:0000:0001:0000:0000:0001', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['fe80::1%eth0', 'fe80::1'],
  ];
  test.each([...FORMS, ['no address', 'no address']])('%s is written as %s', (given, written) => {
    expect(canonicalAddress(given)).toBe(written);
  });

  test('is shown whole and in its shortest form in the list of sessions', async () => {
    const proxied = await openTestApi({ settings: { trustProxy: 1 } });
    try {
      const { email } = await newUser(proxied);
      for (const [given, written] of FORMS.slice(0, 5)) {
        const agent = browser(proxied);
        const body = { email, password: PASSWORD };
        const signedIn = await agent.post(SIGN_IN).set('X-Forwarded-For', given).send(body);
        expect(signedIn.status).toBe(200);
        const sessions = (await agent.get('/api/auth/list-sessions')).body as { ipAddress: string }[];
        expect(sessions.map(({ ipAddress }) => ipAddress)).toContain(written);
      }
    } finally {
      await proxied.close();
    }
  });
});
