import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { User } from '@tocsin/contracts/user';
import { accounts } from '@tocsin/db/accounts/table';
import { newSignedInUser, newUser, signIn } from '../testing/sign-in.ts';
import type { TestUser } from '../testing/sign-in.ts';
import { openTestApi } from '../testing/test-api.ts';
import type { TestApi } from '../testing/test-api.ts';

const USERS = '/api/dashboard/users';

let api: TestApi;
/** Each test has an account of its own. */
let accountId: string;
let owner: TestUser;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  accountId = randomUUID();
  await api.context.db.insert(accounts).values({ id: accountId, name: 'Test' });
  owner = await newSignedInUser(api, { accountId });
});
afterAll(() => api.close());

const statusOf = async (request: PromiseLike<{ status: number }>): Promise<number> => (await request).status;

describe('users', () => {
  test('are listed, the longest-standing first, those of the account only', async () => {
    const member = await newUser(api, { accountId, role: 'member' });
    await newUser(api, { accountId: api.other.id });
    const response = await owner.agent.get(USERS);
    expect((response.body as { users: User[] }).users.map(({ id, role }) => [id, role])).toEqual([
      [owner.id, 'owner'],
      [member.id, 'member'],
    ]);
  });

  test('get another role, which counts with their next request', async () => {
    const member = await newSignedInUser(api, { accountId, role: 'member' });
    expect(await statusOf(member.agent.get(USERS))).toBe(403);
    const response = await owner.agent.patch(`${USERS}/${member.id}`).send({ role: 'owner' });
    expect(response.body).toMatchObject({ user: { id: member.id, role: 'owner' } });
    expect(await statusOf(member.agent.get(USERS))).toBe(200);
    expect(await statusOf(owner.agent.patch(`${USERS}/${member.id}`).send({ role: 'member' }))).toBe(200);
    expect(await statusOf(member.agent.get(USERS))).toBe(403);
  });

  test('who is removed is signed out everywhere at once', async () => {
    const member = await newSignedInUser(api, { accountId, role: 'member' });
    expect(await statusOf(member.agent.get('/api/dashboard/me'))).toBe(200);
    expect(await statusOf(owner.agent.delete(`${USERS}/${member.id}`))).toBe(204);
    expect(await statusOf(member.agent.get('/api/dashboard/me'))).toBe(401);
    expect(await statusOf(owner.agent.delete(`${USERS}/${member.id}`))).toBe(404);
    const { rows } = await api.database.pool.query('select from sessions where user_id = $1', [member.id]);
    expect(rows).toEqual([]);
  });

  test('the last owner stays one, also where two owners remove each other at the same time', async () => {
    await newUser(api, { accountId, role: 'member' });
    await newUser(api, { accountId: api.other.id });
    const path = `${USERS}/${owner.id}`;
    expect(await statusOf(owner.agent.delete(path))).toBe(409);
    expect(await statusOf(owner.agent.patch(path).send({ role: 'member' }))).toBe(409);
    expect(await statusOf(owner.agent.patch(path).send({ role: 'owner' }))).toBe(200);
    const second = await newSignedInUser(api, { accountId });
    const statuses = await Promise.all([
      statusOf(owner.agent.patch(`${USERS}/${second.id}`).send({ role: 'member' })),
      statusOf(second.agent.delete(path)),
    ]);
    const { rows } = await api.database.pool.query<{ count: string }>(
      `select count(*) from users where role = 'owner' and account_id = $1`,
      [accountId],
    );
    expect([rows[0]?.count, statuses.filter((status) => status < 300)]).toEqual(['1', [expect.any(Number)]]);
  });

  test('bad input: 404 before 400, nothing but a role', async () => {
    const foreign = await newUser(api, { accountId: api.other.id });
    for (const id of [foreign.id, 'no-id', '00000000-0000-7000-8000-000000000000']) {
      expect(await statusOf(owner.agent.patch(`${USERS}/${id}`).send({ role: 5 }))).toBe(404);
      expect(await statusOf(owner.agent.delete(`${USERS}/${id}`))).toBe(404);
    }
    for (const body of [{}, { role: 'admin' }, { role: 'owner', email: 'a@example.com' }]) {
      expect(await statusOf(owner.agent.patch(`${USERS}/${owner.id}`).send(body))).toBe(400);
    }
    const response = await owner.agent.put(`${USERS}/${owner.id}`);
    expect([response.status, response.headers['allow']]).toEqual([405, 'PATCH, DELETE']);
  });

  test('a session has the rate limit of a key', async () => {
    const limited = await openTestApi({ settings: { rateLimitPerMinute: 2 } });
    try {
      const [first, second] = [await signIn(limited), await signIn(limited)];
      const statuses = [];
      for (let request = 0; request < 3; request += 1) statuses.push(await statusOf(first.get(USERS)));
      expect(statuses).toEqual([200, 200, 429]);
      expect(await statusOf(second.get(USERS))).toBe(200);
    } finally {
      await limited.close();
    }
  });
});
