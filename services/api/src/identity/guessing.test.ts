import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type supertest from 'supertest';
import { browser, newSignedInUser, newUser, PASSWORD } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const SIGN_IN = '/api/auth/sign-in/email';

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
    ((response.headers['set-cookie'] ?? []) as string[])[1]?.split(';', 1)[0] ?? '';
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
