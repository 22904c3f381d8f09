import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { User } from '@tocsin/contracts/people/user';
import { ensureApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { accounts } from '@tocsin/db/users/table';
import { until } from '@tocsin/embedded/testing/until';
import { newSignedInUser, newUser, signIn, type TestUser } from '../testing/sign-in.ts';
import { openTestApi, useTestApi } from '../testing/test-api.ts';

const USERS = '/api/dashboard/users';

/** Each test has its own account. */
let accountId: string;
let owner: TestUser;
const api = await useTestApi();
beforeEach(async () => {
  accountId = randomUUID();
  await api.context.db.insert(accounts).values({ id: accountId, name: 'Test' });
  owner = await newSignedInUser(api, { accountId });
});

const statusOf = async (request: PromiseLike<{ status: number }>): Promise<number> => (await request).status;
const newMember = (): Promise<TestUser> => newSignedInUser(api, { accountId, role: 'member' });

describe('users', () => {
  test('are listed by age, for the account only', async () => {
    const member = await newUser(api, { accountId, role: 'member' });
    const { users } = (await owner.agent.get(USERS)).body as { users: User[] };
    expect(users.map(({ id, role }) => [id, role])).toEqual([
      [owner.id, 'owner'],
      [member.id, 'member'],
    ]);
  });

  test('get another role with their next request', async () => {
    const member = await newMember();
    expect(await statusOf(member.agent.get(USERS))).toBe(403);
    const response = await owner.agent.patch(`${USERS}/${member.id}`).send({ role: 'owner' });
    expect(response.body).toMatchObject({ user: { id: member.id, role: 'owner' } });
    expect(await statusOf(member.agent.get(USERS))).toBe(200);
    expect(await statusOf(owner.agent.patch(`${USERS}/${member.id}`).send({ role: 'member' }))).toBe(200);
    expect(await statusOf(member.agent.get(USERS))).toBe(403);
  });

  test('are signed out everywhere at once when they are removed', async () => {
    const member = await newMember();
    expect(await statusOf(member.agent.get('/api/dashboard/me'))).toBe(200);
    expect(await statusOf(owner.agent.delete(`${USERS}/${member.id}`))).toBe(204);
    expect(await statusOf(member.agent.get('/api/dashboard/me'))).toBe(401);
    expect(await statusOf(owner.agent.delete(`${USERS}/${member.id}`))).toBe(404);
    const { rows } = await api.database.pool.query('select from sessions where user_id = $1', [member.id]);
    expect(rows).toEqual([]);
  });

  describe('API keys of a removed user', () => {
    const KEYS = '/api/dashboard/api-keys';

    async function createKey({ agent }: TestUser): Promise<{ id: string; key: string }> {
      const { body } = await agent.post(KEYS).send({ name: 'CI' });
      const { apiKey, key } = body as { apiKey: { id: string }; key: string };
      return { id: apiKey.id, key };
    }

    const works = async (key: string): Promise<boolean> =>
      (await statusOf(api.as(key).get('/api/cli/monitors'))) === 200;

    test('are deleted permanently, and no others', async () => {
      const member = await newMember();
      const [own, other] = [await createKey(member), await createKey(owner)];
      expect(await statusOf(owner.agent.delete(`${USERS}/${member.id}`))).toBe(204);
      expect([await works(own.key), await works(other.key)]).toEqual([false, true]);
      const again = { name: 'again', key: own.key, scopes: 'read,write' } as const;
      expect(await ensureApiKey(api.context.db, systemActor(accountId), again)).toBe('refused');
    });

    test('are kept on request, with their creator', async () => {
      const member = await newMember();
      const { id, key } = await createKey(member);
      expect(await statusOf(owner.agent.delete(`${USERS}/${member.id}?revokeApiKeys=false`))).toBe(204);
      expect(await works(key)).toBe(true);
      const { body } = await owner.agent.get(KEYS);
      const createdBy = { id: member.id, name: 'Test user', email: member.email, removed: true };
      expect(body).toMatchObject({ apiKeys: [{ id, createdBy }] });
    });

    test('are kept if the user cannot be removed, so the last owner keeps all of them', async () => {
      const { key } = await createKey(owner);
      expect(await statusOf(owner.agent.delete(`${USERS}/${owner.id}`))).toBe(409);
      expect(await works(key)).toBe(true);
    });

    test('are deleted even if they are created at the same moment', async () => {
      const member = await newMember();
      const { pool } = api.database;
      const holder = await pool.connect();
      try {
        await holder.query('set idle_in_transaction_session_timeout = 0');
        await holder.query('begin');
        // The request for a new key waits here, after its session was looked up.
        await holder.query('lock table api_keys in exclusive mode');
        const created = member.agent
          .post(KEYS)
          .send({ name: 'late' })
          .then(({ status }) => status);
        await until('the key is about to be created', async () => {
          const { rowCount } = await holder.query(
            `select from pg_locks where not granted and relation = 'api_keys'::regclass
             and database = (select oid from pg_database where datname = current_database())`,
          );
          return (rowCount ?? 0) > 0;
        });
        const removed = statusOf(owner.agent.delete(`${USERS}/${member.id}`));
        await until('the removal waits, or is done', async () => {
          // This does not use the locking connection, because in a transaction `pg_stat_activity` does not change after the first query.
          const { rows } = await pool.query<{ count: string }>(
            `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
             union all select count(*) from users where id = $1`,
            [member.id],
          );
          return Number(rows[0]?.count) >= 2 || rows[1]?.count === '0';
        });
        await holder.query('commit');
        expect([await removed, await created]).toEqual([204, expect.any(Number)]);
      } finally {
        holder.release(true);
      }
      const { rowCount } = await pool.query('select from api_keys where account_id = $1', [accountId]);
      expect(rowCount).toBe(0);
    });
  });

  test('the last owner stays, even if two owners remove each other at the same time', async () => {
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
      `select count(*) from memberships where role = 'owner' and account_id = $1`,
      [accountId],
    );
    expect([rows[0]?.count, statuses.filter((status) => status < 300)]).toEqual(['1', [expect.any(Number)]]);
  });

  test('invalid input: 404 before 400, and a role is the only field', async () => {
    const othersUser = await newUser(api, { accountId: api.other.id });
    for (const id of [othersUser.id, 'no-id']) {
      expect(await statusOf(owner.agent.patch(`${USERS}/${id}`).send({ role: 5 }))).toBe(404);
      expect(await statusOf(owner.agent.delete(`${USERS}/${id}?revokeKeys=true`))).toBe(404);
    }
    const path = `${USERS}/${owner.id}`;
    for (const body of [{ role: 'admin' }, { role: 'owner', email: 'a@example.com' }])
      expect(await statusOf(owner.agent.patch(path).send(body))).toBe(400);
    expect(await statusOf(owner.agent.delete(`${path}?revokeApiKeys=no`))).toBe(400);
  });
});

test('a session has the rate limit of a key', async () => {
  const limited = await openTestApi({ settings: { rateLimitPerMinute: 2 } });
  try {
    const [first, second] = [await signIn(limited), await signIn(limited)];
    const statuses = [];
    for (const user of [first, first, first, second]) statuses.push(await statusOf(user.get(USERS)));
    expect(statuses).toEqual([200, 200, 429, 200]);
  } finally {
    await limited.close();
  }
});
