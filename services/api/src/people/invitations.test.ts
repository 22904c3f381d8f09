import { randomUUID } from 'node:crypto';
import { describe, expect, jest, test } from '@jest/globals';
import type { Invitation } from '@tocsin/contracts/people/user';
import type { Response } from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { browser, newSignedInUser, newUser, signIn } from '../testing/sign-in.ts';
import { openTestApi, ORIGIN, useTestApi } from '../testing/test-api.ts';

const INVITATIONS = '/api/dashboard/invitations';
const ACCEPT = `${INVITATIONS}/accept`;
const PERSON = { name: 'Ada', password: 'a long password' };

const api = await useTestApi();
const owner = await signIn(api);

interface Made {
  readonly invitation: Invitation;
  readonly token: string;
  readonly url: string;
}

async function invite(body: object = { role: 'member' }, agent: TestAgent = owner): Promise<Made> {
  const response = await agent.post(INVITATIONS).send(body);
  if (response.status !== 201) throw new Error(response.text);
  return response.body as Made;
}

const newEmail = (): string => `${randomUUID()}@example.com`;
const accept = async (token: string, fields: object = {}, agent = browser(api)): Promise<Response> =>
  agent.post(ACCEPT).send({ ...PERSON, token, email: newEmail(), ...fields });

describe('inviting', () => {
  test('returns token and link once, and stores only a hash', async () => {
    const { invitation, token, url } = await invite({ role: 'owner', email: ' New.One@Example.com ' });
    expect(invitation).toEqual({
      id: expect.any(String),
      role: 'owner',
      email: 'new.one@example.com',
      expiresAt: expect.any(String),
      createdAt: expect.any(String),
    });
    expect(Date.parse(invitation.expiresAt) - Date.parse(invitation.createdAt)).toBeCloseTo(
      7 * 86_400_000,
      -4,
    );
    expect(url).toBe(`${ORIGIN}/invitation?token=${token}`);
    const list = await owner.get(INVITATIONS);
    expect((list.body as { invitations: Invitation[] }).invitations).toContainEqual(invitation);
    expect(list.text).not.toContain(token);
    const { rows } = await api.database.pool.query('select * from invitations');
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  test('with invalid fields: 400', async () => {
    const response = await owner.post(INVITATIONS).send({ role: 'admin', email: 5, extra: 1 });
    expect(response.status).toBe(400);
    const { errors } = response.body as { errors: { path: string }[] };
    expect(errors.map(({ path }) => path)).toEqual(['email', 'role', 'extra']);
  });

  test('a user of the account: 409; of another account: not revealed', async () => {
    const { email } = await newUser(api);
    expect((await owner.post(INVITATIONS).send({ role: 'member', email })).status).toBe(409);
    const othersUser = await newUser(api, { accountId: api.other.id });
    expect((await owner.post(INVITATIONS).send({ role: 'member', email: othersUser.email })).status).toBe(
      201,
    );
  });
});

describe('checking', () => {
  const check = async (token: string, on = api): Promise<Response> =>
    browser(on).post(`${INVITATIONS}/check`).send({ token });

  test('says whether an invitation can be accepted, and whom it is for, without using it up', async () => {
    const { token, invitation } = await invite({ role: 'member', email: newEmail() });
    const { email, expiresAt } = invitation;
    for (const response of [await check(token), await check(token)])
      expect([response.status, response.body]).toEqual([
        200,
        { invitation: { email, expiresAt, accountName: 'Test', isUser: false } },
      ]);
    await accept(token);
    expect((await check(token)).status).toBe(410);
    expect((await check('unknown')).status).toBe(404);
  });

  test('has a rate limit for each address', async () => {
    const limited = await openTestApi({ settings: { rateLimitPerMinute: 3 } });
    try {
      const statuses = [];
      for (let index = 0; index < 4; index += 1) statuses.push((await check('guess', limited)).status);
      expect(statuses).toEqual([404, 404, 404, 429]);
    } finally {
      await limited.close();
    }
  });
});

describe('accepting', () => {
  test('creates a user of the account with the role, and signs in', async () => {
    const { token, invitation } = await invite({ role: 'member', email: newEmail() });
    const agent = browser(api);
    const response = await accept(token, { email: 'other@example.com' }, agent);
    const user = { name: 'Ada', email: invitation.email, role: 'member' };
    expect([response.status, response.body]).toMatchObject([201, { user }]);
    expect((await agent.get('/api/dashboard/me')).body).toMatchObject({
      ...(response.body as object),
      account: { id: api.account.id },
    });
  });

  test('creates the user even if no session can be started', async () => {
    const { token } = await invite();
    jest.spyOn(api.context.identity, 'signIn').mockRejectedValueOnce(new Error('connection terminated'));
    const email = newEmail();
    const response = await accept(token, { email });
    expect([response.status, response.body]).toMatchObject([201, { user: { email } }]);
    expect(response.headers).not.toHaveProperty('set-cookie');
    const credentials = { email, password: PERSON.password };
    expect((await browser(api).post('/api/auth/sign-in/email').send(credentials)).status).toBe(200);
  });

  test('works once, for one of many at the same time', async () => {
    const { token } = await invite();
    const responses = await Promise.all(Array.from({ length: 3 }, () => accept(token)));
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 410, 410]);
    expect(responses.filter(({ headers }) => headers['set-cookie'] !== undefined)).toHaveLength(1);
  });

  test('an unknown token: 404; an expired one: 410; one of a deleted invitation: 404', async () => {
    expect((await accept('unknown')).status).toBe(404);
    const expired = await invite();
    await api.database.pool.query('update invitations set expires_at = now() where id = $1', [
      expired.invitation.id,
    ]);
    expect((await accept(expired.token)).status).toBe(410);
    const deleted = await invite();
    expect((await owner.delete(`${INVITATIONS}/${deleted.invitation.id}`)).status).toBe(204);
    expect((await accept(deleted.token)).status).toBe(404);
  });

  test('an existing address, in any case: 409, and the invitation stays open', async () => {
    const { email } = await newUser(api, { accountId: api.other.id });
    const { token } = await invite();
    const taken = await accept(token, { email: email.toUpperCase() });
    expect(taken.status).toBe(409);
    expect(taken.headers).not.toHaveProperty('set-cookie');
    expect((await accept(token)).status).toBe(201);
  });

  test.each([
    [{ password: 'short' }, 'password'],
    [{ role: 'owner' }, 'role'],
    // The invitation has no address.
    [{ email: undefined }, 'email'],
  ])('%j: 400 with the field', async (fields, path) => {
    const { token } = await invite();
    const response = await accept(token, fields);
    expect([response.status, response.body]).toMatchObject([400, { errors: [{ path }] }]);
  });
});

test.each(['removed', 'made a member'])('links of an owner who is %s stop working', async (how) => {
  const { agent, id } = await newSignedInUser(api);
  const { token } = await invite({ role: 'owner' }, agent);
  const path = `/api/dashboard/users/${id}`;
  const response =
    how === 'removed' ? await owner.delete(path) : await owner.patch(path).send({ role: 'member' });
  expect(response.status).toBeLessThan(300);
  expect((await accept(token)).status).toBe(404);
});
