import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { AgentToken } from '@tocsin/contracts/agents/agent-token';
import type { AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import type { Region } from '@tocsin/contracts/regions/region';
import { AGENT_TOKEN_PATTERN } from '@tocsin/contracts/limits';
import { findAgentToken } from '@tocsin/db/agents/agent-tokens';
import { renewAgentConnections } from '@tocsin/db/agents/agent-connections';
import { hashToken } from '@tocsin/core/secrets/tokens';
import type TestAgent from 'supertest/lib/agent.js';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { OPERATOR_KEY, useTestApi } from '../testing/test-api.ts';

const CLI = '/api/cli/regions';
const DASHBOARD = '/api/dashboard/regions';
const OPERATOR = '/api/operator/regions';
const served = { workers: 1, waiting: 0, lagMs: 0 };

const api = await useTestApi({
  regionLoads: {
    read: async (regions) =>
      new Map(
        regions.map((code) => [
          code,
          code === 'dead' ? null : { ...served, workers: code === 'served' ? 1 : 0 },
        ]),
      ),
  },
  settings: { regions: ['default', 'eu'] },
});
const { db } = api.context;
const key = api.as();
const otherKey = api.as(api.other.key);
const operator = api.as(OPERATOR_KEY);
const member = await signIn(api, { role: 'member' });

const newCode = (): string => `r-${randomUUID()}`;
async function newRegion(agent: TestAgent = key, path: string = CLI): Promise<string> {
  const code = newCode();
  await agent.post(path).send({ code }).expect(201);
  return code;
}
async function regionsOf(agent: TestAgent, path: string = CLI): Promise<Region[]> {
  return ((await agent.get(path)).body as { regions: Region[] }).regions;
}
const find = async (agent: TestAgent, code: string, path: string = CLI): Promise<Region | undefined> =>
  (await regionsOf(agent, path)).find(({ region }) => region === code);

interface Created {
  readonly agentToken: AgentToken;
  readonly token: string;
}
async function newToken(agent: TestAgent, path: string, fields: object = {}): Promise<Created> {
  const { body } = await agent
    .post(`${path}/agent-tokens`)
    .send({ name: 'Rack 1', ...fields })
    .expect(201);
  return body as Created;
}

describe('an agent region', () => {
  test.each([
    ['a key', key, CLI],
    ['a member', member, DASHBOARD],
  ])('is created by %s, and is disconnected until an agent connects', async (_, agent, path) => {
    const code = newCode();
    const created = await agent.post(path).send({ code, name: 'Zurich' });
    expect([created.status, created.headers['location']]).toEqual([201, `${path}/${code}`]);
    const { region } = created.body as { region: Region };
    const fields = { region: code, kind: 'agents', name: 'Zurich', agents: [], monitors: 0, served: false };
    expect(region).toMatchObject({ ...fields, health: 'disconnected', since: expect.any(String) });
    expect(await find(member, code, DASHBOARD)).toEqual(region);
    expect(await find(otherKey, code)).toBeUndefined();

    const { agentToken } = await newToken(agent, `${path}/${code}`);
    const connection = {
      id: randomUUID(),
      tokenId: agentToken.id,
      region: code,
      name: 'probe',
      version: '1.0.0',
    };
    const connectedSince = new Date('2026-03-01T12:00:00Z');
    await renewAgentConnections(db, 'g', [{ ...connection, connectedSince, inFlight: 2 }]);
    const { id, name, version } = connection;
    expect(await find(agent, code, path)).toMatchObject({
      health: 'unknown',
      since: null,
      agents: [{ id, name, version, connectedSince: connectedSince.toISOString(), inFlight: 2 }],
    });
    await renewAgentConnections(db, 'g', []);
    const { lastUsedAt } = (
      (await agent.get(`${path}/${code}/agent-tokens`)).body as { agentTokens: AgentToken[] }
    ).agentTokens[0] ?? { lastUsedAt: null };
    expect(await find(agent, code, path)).toMatchObject({ health: 'disconnected', since: lastUsedAt });
  });

  test('shared by operators is listed for every account, and only operators change it', async () => {
    const code = await newRegion(operator, OPERATOR);
    await newMonitor(api, { regions: [code] });
    for (const agent of [key, otherKey]) expect(await find(agent, code)).toMatchObject({ kind: 'agents' });
    expect(await find(operator, code, OPERATOR)).toMatchObject({ monitors: 1, canaryMonitorIds: [] });
    expect((await key.get(`${CLI}/${code}/agent-tokens`)).status).toBe(404);
    expect((await key.post(`${CLI}/${code}/agent-tokens`).send({ name: 'x' })).status).toBe(404);
    expect((await key.delete(`${CLI}/${code}`)).status).toBe(404);
    expect((await operator.delete(`${OPERATOR}/${code}`)).status).toBe(409);
    const own = await newRegion();
    expect(await find(operator, own, OPERATOR)).toBeUndefined();
    expect((await operator.post(`${OPERATOR}/${own}/agent-tokens`).send({ name: 'x' })).status).toBe(404);
  });

  test('has no code of the settings, of checkers, or of another region, with the same error', async () => {
    const own = await newRegion();
    const errors: unknown[] = [];
    for (const code of ['default', 'eu', 'served', own]) {
      const { status, body } = await otherKey.post(CLI).send({ code });
      const { instance: _, ...problem } = body as { instance: string };
      errors.push([status, problem]);
    }
    expect(errors[0]).toMatchObject([409, { errors: [{ path: 'code', code: 'conflict' }] }]);
    expect(errors).toEqual(errors.map(() => errors[0]));
    expect((await key.post(CLI).send({ code: 'dead' })).status).toBe(503);
  });

  test.each([
    [{}, 'code', 'is required'],
    [{ code: 'Zürich' }, 'code', expect.stringContaining('1 to 63 lower-case letters')],
    [{ code: 'a', name: ' ' }, 'name', expect.any(String)],
  ])('is refused as %j', async (body, path, message) => {
    const response = await key.post(CLI).send(body);
    expect([response.status, response.body]).toMatchObject([400, { errors: [{ path, message }] }]);
  });

  test('of another account is neither seen nor named, in a monitor, a set or a trial check', async () => {
    const code = await newRegion();
    const unknown = newCode();
    const monitor = { name: 'Shop', url: 'https://shop.example' };
    const entry = { ...monitor, externalId: 'shop' };
    const { id } = ((await otherKey.post(MONITORS).send(monitor)).body as { monitor: { id: string } })
      .monitor;
    const stranger = await signIn(api, { accountId: api.other.id });
    const nameIn = async (region: string): Promise<unknown[]> => {
      const regions = [region];
      const responses = [
        await otherKey.post(MONITORS).send({ ...monitor, regions }),
        await otherKey.put(`${MONITORS}/${id}`).send({ regions }),
        await otherKey.put(MONITORS).send({ source: 's', monitors: [{ ...entry, regions }] }),
        await otherKey.put(MONITORS).send({ source: 's', monitors: [{ ...entry, regions }], dryRun: true }),
        await stranger.post('/api/dashboard/monitors/test').send({ ...monitor, regions }),
        await stranger.post('/api/dashboard/monitors/test').query({ region }).send(monitor),
      ];
      return responses.map(({ status, body }) => [status, { ...(body as object), instance: null }]);
    };
    const refused = await nameIn(code);
    expect(refused).toEqual(await nameIn(unknown));
    expect(refused.map((one) => (one as [number])[0])).toEqual([400, 400, 400, 400, 400, 400]);
    expect(JSON.stringify(refused)).not.toContain(code);
    for (const path of [`${CLI}/${code}`, `${CLI}/${code}/agent-tokens/${id}`])
      expect((await otherKey.delete(path)).status).toBe(404);
    expect((await otherKey.get(`${CLI}/${code}/agent-tokens`)).status).toBe(404);
    await newMonitor(api, { regions: [code] });
  });
});

test('a token is shown once, and stops working once it is deleted', async () => {
  const region = `${CLI}/${await newRegion()}`;
  const created = await key
    .post(`${region}/agent-tokens`)
    .send({ name: 'Rack 1', expiresAt: '2099-01-01T00:00:00+01:00' });
  const { agentToken, token } = created.body as Created;
  expect(agentToken).toMatchObject({
    name: 'Rack 1',
    expiresAt: '2098-12-31T23:00:00.000Z',
    lastUsedAt: null,
  });
  const path = `${region}/agent-tokens/${agentToken.id}`;
  expect([created.headers['location'], token]).toEqual([path, expect.stringMatching(AGENT_TOKEN_PATTERN)]);
  const listed = await key.get(`${region}/agent-tokens`);
  expect(listed.body).toEqual({ agentTokens: [agentToken] });
  expect(await findAgentToken(db, hashToken(token))).toMatchObject({ id: agentToken.id });
  expect((await key.delete(path)).status).toBe(204);
  expect(await findAgentToken(db, hashToken(token))).toBeNull();
  expect((await key.delete(path)).status).toBe(404);
  const past = await key
    .post(`${region}/agent-tokens`)
    .send({ name: 'x', expiresAt: '2020-01-01T00:00:00Z' });
  expect([past.status, past.body]).toMatchObject([400, { errors: [{ path: 'expiresAt' }] }]);
});

test.each([
  ['an account', key, CLI, '/api/cli/audit-log'],
  ['the operators', operator, OPERATOR, '/api/operator/audit-log'],
])('the log of %s has every change of regions and tokens, without the token', async (_, agent, path, log) => {
  const code = await newRegion(agent, path);
  const { agentToken, token } = await newToken(agent, `${path}/${code}`);
  await agent.delete(`${path}/${code}/agent-tokens/${agentToken.id}`).expect(204);
  await agent.delete(`${path}/${code}`).expect(204);
  const { entries } = (await agent.get(log).query({ limit: 4 })).body as { entries: AuditEntry[] };
  const region = { type: 'region', id: code, name: code };
  const target = { type: 'agentToken', id: agentToken.id, name: 'Rack 1' };
  expect(entries).toMatchObject([
    { action: 'region.created', target: region },
    { action: 'agentToken.created', target },
    { action: 'agentToken.deleted', target },
    { action: 'region.deleted', target: region },
  ]);
  const hidden = { field: 'token', from: null, to: '(secret)' };
  expect(entries[1]?.changes).toContainEqual(hidden);
  expect(entries[1]?.changes).toContainEqual({ field: 'region', from: null, to: code });
  expect(JSON.stringify(entries)).not.toContain(token);
});

test('the regions and tokens of a deleted account end at once', async () => {
  const account = { name: 'Gone', slug: newCode() };
  const created = await operator.post('/api/operator/accounts').send(account).expect(201);
  const { id } = (created.body as { account: { id: string } }).account;
  const issued = await operator.post(`/api/operator/accounts/${id}/api-keys`).send({ name: 'x' }).expect(201);
  const agent = api.as((issued.body as { key: string }).key);
  const { token } = await newToken(agent, `${CLI}/${await newRegion(agent)}`);
  await operator.delete(`/api/operator/accounts/${id}`).query({ confirm: account.slug }).expect(204);
  expect(await findAgentToken(db, hashToken(token))).toBeNull();
});
