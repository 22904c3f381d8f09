import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type TestAgent from 'supertest/lib/agent.js';
import { trustedOrigins } from './origins.ts';
import { validatedAgent } from '../testing/validated-agent.ts';
import { newSignedInUser, PASSWORD, type TestUser } from '../testing/sign-in.ts';
import { openTestApi, ORIGIN, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let user: TestUser;
beforeAll(async () => {
  api = await openTestApi();
  user = await newSignedInUser(api);
});
afterAll(() => api.close());

const http = (): TestAgent => validatedAgent(`http://127.0.0.1:${api.port}`);
const MONITORS = '/api/dashboard/monitors';
const MONITOR = { name: 'a', url: 'https://a.example' };

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
    [{ 'Sec-Fetch-Site': 'none' }, 403],
    [{ Referer: `${ORIGIN}/monitors` }, 403],
    [{ Origin: 'http://127.0.0.1:3000', Host: '127.0.0.1:3000' }, 201],
    [{ Origin: 'http://[::1]:3000', Host: '[::1]:3000' }, 201],
    // Another program may listen at the same port of another loopback address.
    [{ Origin: 'http://127.0.0.1:3000', Host: 'localhost:3000' }, 403],
    [{ Origin: 'http://127.0.0.1:3001', Host: '127.0.0.1:3001' }, 403],
    [{ Origin: 'https://127.0.0.1:3000', Host: '127.0.0.1:3000' }, 403],
    // A name that an attacker points to this machine.
    [{ Origin: 'http://evil.example:3000', Host: 'evil.example:3000' }, 403],
  ])('%j: %d', async (headers, status) => {
    const response = await http().post(MONITORS).set('Cookie', user.cookie).set(headers).send(MONITOR);
    expect(response.status).toBe(status);
    if (status === 403) {
      expect(response.type).toBe('application/problem+json');
      expect(response.body).toMatchObject({ type: 'urn:tocsin:problem:untrusted-origin' });
    }
  });

  test('reads need no Origin, because another site cannot see the response', async () => {
    const response = await http().get(MONITORS).set('Cookie', user.cookie);
    expect(response.status).toBe(200);
    expect(response.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('the Origin is checked first', async () => {
    for (const method of ['put', 'patch', 'delete'] as const) {
      const response = await http()[method](`${MONITORS}/no-id`).set('Cookie', user.cookie);
      expect(response.status).toBe(403);
    }
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

describe('better-auth', () => {
  test.each([
    [{ Origin: 'https://evil.example' }, 403],
    [{ Origin: ORIGIN }, 200],
  ])('signs in from %j: %d', async (headers, status) => {
    const body = { email: user.email, password: PASSWORD };
    expect((await http().post('/api/auth/sign-in/email').set(headers).send(body)).status).toBe(status);
  });

  test('signs in at another loopback address of its own port', async () => {
    const response = await http()
      .post('/api/auth/sign-in/email')
      .set({ Origin: 'http://127.0.0.1:3000', Host: '127.0.0.1:3000' })
      .send({ email: user.email, password: PASSWORD });
    expect([response.status, response.headers['set-cookie']]).toEqual([200, expect.anything()]);
  });

  test('at another address, a problem names the origin and the setting', async () => {
    const response = await http()
      .post('/api/auth/sign-in/email')
      .set({ Origin: 'http://192.168.1.5:3000', Host: '192.168.1.5:3000' })
      .send({ email: user.email, password: PASSWORD });
    expect([response.status, response.type]).toEqual([403, 'application/problem+json']);
    expect(response.body).toMatchObject({
      type: 'urn:tocsin:problem:untrusted-origin',
      detail:
        'This request comes from http://192.168.1.5:3000, and PUBLIC_URL is http://localhost:3000. Open the dashboard at http://localhost:3000, or set PUBLIC_URL to http://192.168.1.5:3000 and restart Tocsin.',
    });
  });

  test.each([
    { Host: 'a b' },
    { Host: '' },
    { Host: '[' },
    { Host: 'a.example:99999' },
    { 'X-Forwarded-Proto': 'a b' },
    { 'X-Forwarded-Proto': 'javascript' },
    { 'X-Forwarded-Host': 'a b' },
  ])('does not let a client set the header with the client address: %j', async (headers) => {
    const body = { email: user.email, password: PASSWORD };
    const response = await http()
      .post('/api/auth/sign-in/email')
      .set('Origin', ORIGIN)
      .set(headers)
      .send(body);
    expect(response.status).toBe(200);
  });

  test('does not sign out for another site', async () => {
    const signOut = await http()
      .post('/api/auth/sign-out')
      .set({ Cookie: user.cookie, Origin: 'https://evil.example' })
      .send({});
    expect(signOut.status).toBe(403);
    expect((await user.agent.get(MONITORS)).status).toBe(200);
  });
});
