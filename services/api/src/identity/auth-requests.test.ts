import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, jest, test } from '@jest/globals';
import { USER_HEADER } from '@tocsin/contracts/identity/user-header';
import type TestAgent from 'supertest/lib/agent.js';
import { trustedOrigins } from '../access/origins.ts';
import { browser, newSignedInUser, PASSWORD } from '../testing/sign-in.ts';
import { ORIGIN, useTestApi } from '../testing/test-api.ts';
import { validatedAgent } from '../testing/validated-agent.ts';
import { canonicalAddress } from './auth-request.ts';

const ME = '/api/dashboard/me';
const MONITORS = '/api/dashboard/monitors';
const SIGN_IN = '/api/auth/sign-in/email';
const CHANGE_PASSWORD = '/api/auth/change-password';
const MONITOR = { name: 'a', url: 'https://a.example' };
const CHANGE = { currentPassword: PASSWORD, newPassword: 'another long password' };

const api = await useTestApi();
const user = await newSignedInUser(api);

/** Requests without the headers that a browser would send. */
const http = (): TestAgent => validatedAgent(`http://127.0.0.1:${api.port}`);
const signIn = () => browser(api).post(SIGN_IN).send({ email: user.email, password: PASSWORD });

describe('a request with a cookie that changes something', () => {
  test.each<[Record<string, string>, number]>([
    [{ Origin: ORIGIN }, 201],
    [{ 'Sec-Fetch-Site': 'same-origin' }, 201],
    [{}, 403],
    [{ Origin: 'null' }, 403],
    [{ Origin: 'https://evil.example' }, 403],
    [{ Origin: `${ORIGIN}.evil.example` }, 403],
    [{ Origin: 'https://evil.example', 'Sec-Fetch-Site': 'same-origin' }, 403],
    [{ 'Sec-Fetch-Site': 'same-site' }, 403],
    [{ Referer: `${ORIGIN}/monitors` }, 403],
    [{ Origin: 'http://127.0.0.1:3000', Host: '127.0.0.1:3000' }, 201],
    [{ Origin: 'http://[::1]:3000', Host: '[::1]:3000' }, 201],
    // Another program may listen on the same port of another loopback address.
    [{ Origin: 'http://127.0.0.1:3000', Host: 'localhost:3000' }, 403],
    [{ Origin: 'http://127.0.0.1:3001', Host: '127.0.0.1:3001' }, 403],
    // A name that an attacker points to this machine.
    [{ Origin: 'http://evil.example:3000', Host: 'evil.example:3000' }, 403],
  ])('%j: %d', async (headers, status) => {
    const response = await http().post(MONITORS).set('Cookie', user.cookie).set(headers).send(MONITOR);
    expect(response.status).toBe(status);
    if (status === 403) expect(response.body).toMatchObject({ type: 'urn:tocsin:problem:untrusted-origin' });
  });

  test('needs a trusted Origin before anything else is checked, but a read needs none', async () => {
    for (const method of ['put', 'patch', 'delete'] as const)
      expect((await http()[method](`${MONITORS}/no-id`).set('Cookie', user.cookie)).status).toBe(403);
    const response = await http().get(MONITORS).set('Cookie', user.cookie);
    expect(response.status).toBe(200);
    expect(response.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('needs a trusted Origin also to sign in or out', async () => {
    const elsewhere = { Origin: 'http://192.168.1.5:3000', Host: '192.168.1.5:3000' };
    const body = { email: user.email, password: PASSWORD };
    const refused = await http().post(SIGN_IN).set(elsewhere).send(body);
    expect([refused.status, refused.body]).toMatchObject([
      403,
      {
        type: 'urn:tocsin:problem:untrusted-origin',
        detail:
          'This request comes from http://192.168.1.5:3000, and PUBLIC_URL is http://localhost:3000. Open the dashboard at http://localhost:3000, or set PUBLIC_URL to http://192.168.1.5:3000 and restart Tocsin.',
      },
    ]);
    const alias = { Origin: 'http://127.0.0.1:3000', Host: '127.0.0.1:3000' };
    const accepted = await http().post(SIGN_IN).set(alias).send(body);
    expect([accepted.status, accepted.headers['set-cookie']]).toEqual([200, expect.anything()]);
    const signOut = { Cookie: user.cookie, Origin: 'https://evil.example' };
    expect((await http().post('/api/auth/sign-out').set(signOut).send({})).status).toBe(403);
    expect((await user.agent.get(ME)).status).toBe(200);
  });
});

test.each([
  ['http://localhost:3000', ['http://127.0.0.1:3000', 'http://[::1]:3000']],
  ['http://127.0.0.1', ['http://localhost', 'http://[::1]']],
  ['http://tocsin.localhost', ['http://localhost', 'http://127.0.0.1', 'http://[::1]']],
  ['https://tocsin.example.com', []],
  ['http://192.168.1.5:3000', []],
  ['http://localhost.example.com', []],
])('%s also trusts %j', (publicUrl, aliases) => {
  expect(trustedOrigins(publicUrl)).toEqual([publicUrl, ...aliases]);
});

test.each([{ Host: 'a b' }, { Host: 'a.example:99999' }, { 'X-Forwarded-Proto': 'javascript' }])(
  'better-auth does not receive the address that a client claims: %j',
  async (headers) => {
    const request = http()
      .post('/api/auth/revoke-other-sessions')
      .set({ Cookie: user.cookie, Origin: ORIGIN });
    expect((await request.set(headers).send({})).status).toBe(200);
  },
);

describe("a request from another user's page", () => {
  test.each([
    [MONITORS, MONITOR],
    [CHANGE_PASSWORD, CHANGE],
    ['/api/auth/sign-out', {}],
  ])('POST %s: 401, and nothing changes', async (path, body) => {
    const other = await newSignedInUser(api, { accountId: api.other.id });
    const response = await other.agent.post(path).set(USER_HEADER, user.id).send(body);
    expect([response.status, response.body]).toMatchObject([
      401,
      {
        type: 'urn:tocsin:problem:not-signed-in',
        detail: expect.stringMatching(/does not belong to the user in X-Tocsin-User/),
      },
    ]);
    expect((await other.agent.get(MONITORS)).body).toEqual({ monitors: [] });
  });

  test('is accepted from a page of the same user', async () => {
    const request = user.agent.post('/api/auth/revoke-other-sessions').set(USER_HEADER, user.id);
    expect((await request.send({})).status).toBe(200);
  });
});

test.each([
  '/sign-up/email',
  '/update-user',
  '/delete-user',
  '/change-email',
  '/set-password',
  '/reset-password',
  '/link-social',
  '/get-access-token',
  '/revoke-sessions',
  '/sign-in/social',
  '/callback/%2e%2e',
])('the unused route %s of better-auth is not found', async (path) => {
  const { agent, email } = user;
  const body = { email, name: 'x', password: PASSWORD, role: 'owner', provider: 'oidc' };
  for (const response of [
    await agent.post(`/api/auth${path}`).send(body),
    await agent.get(`/api/auth${path}`),
  ])
    expect([response.status, response.type]).toEqual([404, 'application/problem+json']);
});

describe('an invalid request', () => {
  test.each<[string, object, string]>([
    [CHANGE_PASSWORD, { ...CHANGE, newPassword: 'short' }, 'newPassword'],
    [CHANGE_PASSWORD, { ...CHANGE, userId: 'x' }, 'userId'],
    [SIGN_IN, { email: 'a@example.com', password: PASSWORD, callbackURL: '/x' }, 'callbackURL'],
    ['/api/auth/sign-out', { callbackURL: 'https://evil.example/' }, 'callbackURL'],
    ['/api/auth/revoke-session', { token: 'x', userId: 'x' }, 'userId'],
  ])('POST %s %j: 400 with the field', async (path, body, field) => {
    const response = await user.agent.post(path).send(body);
    expect([response.status, response.body]).toMatchObject([400, { errors: [{ path: field }] }]);
    expect(response.headers).not.toHaveProperty('set-cookie');
  });

  test('with a query', async () => {
    const response = await user.agent.get('/api/auth/get-session?disableRefresh=true');
    expect([response.status, response.type]).toEqual([400, 'application/problem+json']);
  });

  test('that is a form: 415', async () => {
    const response = await browser(api).post(SIGN_IN).type('form').send({ email: 'a', password: PASSWORD });
    expect([response.status, response.type]).toEqual([415, 'application/problem+json']);
  });

  test('that is too long: 413, with and without Content-Length', async () => {
    const stream = (bytes: number): Promise<Response> =>
      fetch(`http://127.0.0.1:${api.port}${SIGN_IN}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Origin: ORIGIN },
        body: new Blob([' '.repeat(bytes), '{}']).stream(),
        duplex: 'half',
      });
    const long = await browser(api)
      .post(SIGN_IN)
      .send({ email: 'a@example.com', password: 'x'.repeat(256 * 1024) });
    expect([long.status, long.type]).toEqual([413, 'application/problem+json']);
    expect((await stream(256 * 1024)).status).toBe(413);
    // The body is read, but fields are missing.
    expect((await stream(0)).status).toBe(400);
  });

  test('is no server error if the client does not finish the body', async () => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const socket = connect(api.port, '127.0.0.1');
    const received = text(socket);
    socket.end(
      `POST ${SIGN_IN} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    );
    await received;
    await browser(api).post(SIGN_IN).send({});
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });

  test('changed neither the password nor the session', async () => {
    expect((await user.agent.get(ME)).status).toBe(200);
    expect((await signIn()).status).toBe(200);
  });
});

describe('the address of a client', () => {
  test.each([
    ['::ffff:c000:207', '192.0.2.7'],
    ['0000:0000:0000:0000:0000:0000:0000:0001', '::1'],
    ['2001:0DB8:0000:0000:0001:0000:0000:0001', '2001:db8::1:0:0:1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['no address', 'no address'],
  ])('%s is written as %s', (given, written) => {
    expect(canonicalAddress(given)).toBe(written);
  });
});
