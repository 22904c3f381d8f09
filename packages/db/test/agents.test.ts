import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { LIMITS } from '@tocsin/contracts/limits';
import { monitorSetSchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { hashToken } from '@tocsin/core/secrets/tokens';
import { createAccount } from '@tocsin/db/accounts/accounts';
import type { WriteContext } from '@tocsin/db/accounts/quotas';
import { type AgentConnection, listAgents, renewAgentConnections } from '@tocsin/db/agents/agent-connections';
import { createAgentRegion, deleteAgentRegion, listAgentRegions } from '@tocsin/db/agents/agent-regions';
import {
  createAgentToken,
  deleteAgentToken,
  findAgentToken,
  listAgentTokens,
} from '@tocsin/db/agents/agent-tokens';
import { type Actor, systemActor } from '@tocsin/db/audit-log/actor';
import { namedRegions, requireRegions } from '@tocsin/db/agents/require-regions';
import { OPERATORS_ACCOUNT } from '@tocsin/db/audit-log/record-audit';
import { deleteLostAgents } from '@tocsin/db/database/delete-expired';
import { arrayOf } from '@tocsin/db/database/sql';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { sql } from 'drizzle-orm';
import { editMonitor, makeMonitor, untilWaiting, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, actor, accountId } = context;
const operator: Actor = { ...systemActor(OPERATORS_ACCOUNT), isOperator: true };
const otherId = await createAccount(db, operator, { name: 'Other' });
const other = systemActor(otherId);
const ofOther = { ...context, accountId: otherId, actor: other };

beforeEach(async () => {
  await db.execute(sql`truncate monitors, agent_regions, agent_tokens, agent_connections cascade`);
});

const create = (code: string, by: Actor = actor, within: WriteContext = context): Promise<void> =>
  createAgentRegion(within, by, { code }, false);
const taken = { code: 'conflict', message: 'This region code cannot be used. Choose another one.' };
const quotas = { monitors: 50, channels: 50, maintenanceWindows: 50, regions: 2, checksPerMinute: 0 };

describe('an agent region', () => {
  test('has a code that neither another account nor the settings use', async () => {
    await makeMonitor(ofOther, { regions: ['theirs'] });
    await makeMonitor(context, { regions: ['own'] });
    await create('own');
    await create('shared', operator);
    for (const [code, by] of [
      ['theirs', actor],
      ['own', actor],
      ['own', other],
      ['own', operator],
      ['shared', actor],
    ] as const)
      await expect(create(code, by)).rejects.toMatchObject(taken);
    await expect(createAgentRegion(context, actor, { code: 'set' }, true)).rejects.toMatchObject(taken);
    await create('theirs', operator);
    const codesOf = async (id: string) => (await listAgentRegions(db, id)).map(({ code }) => code).toSorted();
    expect(await codesOf(accountId)).toEqual(['own', 'shared', 'theirs']);
    expect(await codesOf(otherId)).toEqual(['shared', 'theirs']);
    expect(await codesOf(OPERATORS_ACCOUNT)).toEqual(['shared', 'theirs']);
  });

  test('counts against the region quota once, even if many are created concurrently', async () => {
    const limited = { ...context, quotas };
    await makeMonitor(limited, { regions: ['a'] });
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c', 'd', 'e'].map((code) => create(code, actor, limited)),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    const reason = { code: 'quota_exceeded', quota: { quota: 'regions', limit: 2, used: 3 } };
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason });
    await expect(makeMonitor(limited, { regions: ['x'] })).rejects.toMatchObject(reason);
    await create('shared', operator, limited);
  });

  test('is deleted by its owner once no monitor names it', async () => {
    await create('own');
    await create('shared', operator);
    for (const by of [other, operator])
      await expect(deleteAgentRegion(db, by, 'own')).rejects.toMatchObject({ code: 'not_found' });
    await expect(deleteAgentRegion(db, actor, 'shared')).rejects.toMatchObject({ code: 'not_found' });
    const { id } = await makeMonitor(context, { regions: ['own', 'shared'] });
    await expect(deleteAgentRegion(db, actor, 'own')).rejects.toMatchObject({ code: 'conflict' });
    await expect(deleteAgentRegion(db, operator, 'shared')).rejects.toMatchObject({ code: 'conflict' });
    await editMonitor(context, id, { regions: ['elsewhere'] });
    const { token } = await createAgentToken(db, actor, 'own', { name: 'a' });
    await deleteAgentRegion(db, actor, 'own');
    expect(await findAgentToken(db, hashToken(token))).toBeNull();
    await deleteAgentRegion(db, operator, 'shared');
  });
});

describe('a monitor', () => {
  const refused = (path: string, message: string): object => ({
    code: 'validation_failed',
    errors: [{ path, message }],
  });
  const settings = { defaultRegion: 'eu', regions: ['us'] };
  const set = (regions: string[], dryRun: boolean) =>
    monitorSetSchema.parse({
      source: 'set',
      dryRun,
      monitors: [{ externalId: 'a', name: 'a', url: 'https://a.example', regions }],
    });

  test.each([
    ['with REGIONS', settings, 'must be one of us, eu, own, shared'],
    ['without REGIONS', { ...settings, regions: null }, 'must be one of eu, own, shared'],
  ])("names its account's and shared regions, and no other account's (%s)", async (_, given, message) => {
    await create('own');
    await create('theirs', other);
    await create('shared', operator);
    const limited = { ...context, settings: given };
    const { id } = await makeMonitor(limited, { regions: ['own', 'shared', 'us'] });
    const named = ['eu', 'theirs'];
    const error = refused('regions.1', message);
    await expect(makeMonitor(limited, { regions: named })).rejects.toMatchObject(error);
    await expect(editMonitor(limited, id, { regions: named })).rejects.toMatchObject(error);
    for (const dryRun of [true, false]) {
      const inSet = refused('monitors.0.regions.1', `${message} (externalId "a")`);
      await expect(applySet(limited, actor, set(named, dryRun), 'eu')).rejects.toMatchObject(inSet);
      await applySet(limited, actor, set(['own', 'us'], dryRun), 'eu');
    }
    if (given.regions !== null)
      await expect(makeMonitor(limited, { regions: ['eu', 'unknown'] })).rejects.toMatchObject(error);
  });

  test('takes few locks for any number of regions, and an error lists some of them', async () => {
    const codes = Array.from({ length: 1_000 }, (_, index) => `r${index}`);
    const named = [...codes, 'theirs'];
    await create('theirs', other);
    await db.execute(sql`insert into agent_regions (code) select unnest(${arrayOf('text', codes)})`);
    const within = { settings: { ...settings, regions: null } };
    const { locks, error } = await db.transaction(async (tx) => ({
      error: await requireRegions(tx, accountId, within, namedRegions(named)).catch(
        (thrown: unknown) => thrown,
      ),
      locks: await tx.$count(sql`pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`),
    }));
    expect(locks).toBeLessThanOrEqual(64);
    const message: unknown = expect.stringMatching(/^must be one of eu, r0, r1, .*, or one of 951 others$/);
    expect(error).toMatchObject({ errors: [{ path: 'regions.1000', message }] });
  });

  test('and a region of another account are not created at the same time', async () => {
    const client = db.transaction(async (tx) => {
      await makeMonitor({ ...ofOther, db: tx }, { regions: ['new'] });
      const creation = create('new').catch((error: unknown) => error);
      await untilWaiting(context, 1);
      return { creation };
    });
    const { creation } = await client;
    expect(await creation).toMatchObject(taken);
  });
});

describe('a token', () => {
  test('is found until it expires or is deleted, and only its owner sees it', async () => {
    await create('own');
    const { agentToken, token } = await createAgentToken(db, actor, 'own', { name: 'Rack 1' });
    const { id } = agentToken;
    const found = { id, name: 'Rack 1', region: 'own', accountId, expiresAt: null };
    expect(await findAgentToken(db, hashToken(token))).toEqual(found);
    expect(await listAgentTokens(db, accountId, 'own')).toEqual([agentToken]);
    for (const by of [other, operator]) {
      const missing = { code: 'not_found' };
      await expect(listAgentTokens(db, by.accountId, 'own')).rejects.toMatchObject(missing);
      await expect(createAgentToken(db, by, 'own', { name: 'x' })).rejects.toMatchObject(missing);
      await expect(deleteAgentToken(db, by, 'own', id)).rejects.toMatchObject(missing);
    }
    await db.execute(sql`update agent_tokens set expires_at = now()`);
    expect(await findAgentToken(db, hashToken(token))).toBeNull();
    await deleteAgentToken(db, actor, 'own', id);
    expect(await listAgentTokens(db, accountId, 'own')).toEqual([]);
  });

  test('of a shared region belongs to no account', async () => {
    await create('shared', operator);
    const { token } = await createAgentToken(db, operator, 'shared', { name: 'a' });
    expect(await findAgentToken(db, hashToken(token))).toMatchObject({ region: 'shared', accountId: null });
  });

  test('is refused if the region has a hundred, even if many are created concurrently', async () => {
    await create('own');
    await db.execute(sql`
      insert into agent_tokens (id, region, name, hash)
      select gen_random_uuid(), 'own', 'a', i::text from generate_series(2, ${LIMITS.agentTokens}::int) i`);
    const creations = ['a', 'b', 'c'].map((name) => createAgentToken(db, actor, 'own', { name }));
    const outcomes = await Promise.allSettled(creations);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'conflict' },
    });
  });
});

describe('connections', () => {
  const connectedSince = new Date('2026-03-01T12:00:00.000Z');
  async function connectionTo(
    region: string,
    fields: Partial<AgentConnection> = {},
  ): Promise<AgentConnection> {
    const { agentToken } = await createAgentToken(db, actor, region, { name: 'a' });
    const own = { id: randomUUID(), tokenId: agentToken.id, region, name: 'probe-1', version: '0.1.0' };
    return { ...own, connectedSince, inFlight: 0, ...fields };
  }
  const idsIn = async (region: string): Promise<string[]> =>
    (await listAgents(db, [region])).get(region)?.map(({ id }) => id) ?? [];

  test('are listed as last reported by the gateway, and count as uses of their token and region', async () => {
    await create('own');
    const first = await connectionTo('own');
    const second = await connectionTo('own', { connectedSince: new Date('2026-03-01T11:00:00.000Z') });
    expect(await renewAgentConnections(db, 'g1', [first])).toEqual(new Set([first.id]));
    await renewAgentConnections(db, 'g2', [second]);
    await renewAgentConnections(db, 'g1', [{ ...first, inFlight: 7 }]);
    const { id, name, version } = first;
    expect((await listAgents(db, ['own', 'none'])).get('own')).toEqual([
      { id: second.id, name, version, connectedSince: '2026-03-01T11:00:00.000Z', inFlight: 0 },
      { id, name, version, connectedSince: connectedSince.toISOString(), inFlight: 7 },
    ]);
    for (const { lastUsedAt } of await listAgentTokens(db, accountId, 'own'))
      expect(lastUsedAt).not.toBeNull();
    // Their times are written every five seconds.
    const readUse = async () => {
      const [token] = await listAgentTokens(db, accountId, 'own');
      const [region] = await listAgentRegions(db, accountId);
      return [token?.lastUsedAt, region?.lastConnectedAt];
    };
    const used = await readUse();
    await renewAgentConnections(db, 'g2', [second]);
    expect(await readUse()).toEqual(used);
    await db.execute(sql`update agent_tokens set last_used_at = now() - interval '5 seconds'`);
    await db.execute(sql`update agent_regions set last_connected_at = now() - interval '5 seconds'`);
    const old = await readUse();
    await renewAgentConnections(db, 'g2', [second]);
    const [usedAt, connectedAt] = await readUse();
    expect([usedAt === old[0], connectedAt?.valueOf() === old[1]?.valueOf()]).toEqual([false, false]);
  });

  test('of deleted and expired tokens are invalid and deleted', async () => {
    await create('own');
    const [deleted, expired, valid] = [
      await connectionTo('own'),
      await connectionTo('own'),
      await connectionTo('own'),
    ];
    const all = [deleted, expired, valid];
    expect(await renewAgentConnections(db, 'g', all)).toEqual(new Set(all.map(({ id }) => id)));
    await deleteAgentToken(db, actor, 'own', deleted.tokenId);
    await db.execute(sql`update agent_tokens set expires_at = now() where id = ${expired.tokenId}`);
    expect(await renewAgentConnections(db, 'g', all)).toEqual(new Set([valid.id]));
    expect(await idsIn('own')).toEqual([valid.id]);
  });

  test('are deleted when their gateway has no agents or is lost', async () => {
    await create('own');
    const [mine, lost] = [await connectionTo('own'), await connectionTo('own')];
    await renewAgentConnections(db, 'g1', [mine]);
    await renewAgentConnections(db, 'g2', [lost]);
    await renewAgentConnections(db, 'g1', []);
    expect(await idsIn('own')).toEqual([lost.id]);
    const age = (interval: string) =>
      db.execute(sql`update agent_connections set renewed_at = now() - ${interval}::interval`);
    await age('10 seconds');
    expect(await idsIn('own')).toEqual([]);
    expect(await deleteLostAgents(db)).toBe(0);
    await age('61 seconds');
    expect(await deleteLostAgents(db)).toBe(1);
  });

  test('of gateways that were paused are renewed without waiting for each other', async () => {
    await create('own');
    const [first, second] = [await connectionTo('own'), await connectionTo('own')];
    await renewAgentConnections(db, 'g1', [first]);
    await renewAgentConnections(db, 'g2', [second]);
    await db.execute(sql`update agent_connections set renewed_at = now() - interval '61 seconds'`);
    await db.transaction(async (tx) => {
      await renewAgentConnections(tx, 'g1', [first]);
      expect(await renewAgentConnections(db, 'g2', [second])).toEqual(new Set([second.id]));
    });
    expect(await idsIn('own')).toHaveLength(2);
  });

  test('are renewed by many gateways at once while tokens are deleted', async () => {
    await create('own');
    const [lost, ...all] = await Promise.all(Array.from({ length: 9 }, () => connectionTo('own')));
    const renewals = Array.from({ length: 40 }, (_, index) => {
      const mine = all.map((connection, at) => ({
        ...connection,
        id: `${connection.id.slice(0, -2)}${index + 10}`,
        inFlight: at,
      }));
      return renewAgentConnections(db, `g${index}`, index % 2 === 0 ? mine : mine.toReversed());
    });
    await deleteAgentToken(db, actor, 'own', lost?.tokenId ?? '');
    for (const valid of await Promise.all(renewals)) expect(valid.size).toBe(all.length);
  });
});
