import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { phaseMs } from '@tocsin/core/schedule/slots';
import type { Producers } from '@tocsin/queue/producers';
import type TestAgent from 'supertest/lib/agent.js';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { storedJobs } from '../testing/schedules.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { openTestQueue, type TestQueue } from '../testing/test-queue.ts';

const PATH = '/api/dashboard/monitors';

let api: TestApi;
let queue: TestQueue;
let member: TestAgent;
let addExtraChecks: Producers['addExtraChecks'];
beforeAll(async () => {
  queue = await openTestQueue();
  api = await openTestApi({ producers: { addExtraChecks: (...given) => addExtraChecks(...given) } });
  member = await signIn(api, { role: 'member' });
});
afterAll(async () => {
  await queue.close();
  await api.close();
});
afterEach(async () => {
  await api.database.pool.query('truncate monitors, channels, audit_log cascade');
  await queue.redis.flushdb();
});

type Body = Readonly<Record<string, unknown>>;

async function post(action: string, body: Body, status = 200): Promise<Body> {
  const response = await member.post(`${PATH}/${action}`).send(body);
  expect([response.status, response.body]).toEqual([status, expect.anything()]);
  return response.body as Body;
}

const ids = (monitors: readonly { readonly id: string }[]): string[] =>
  monitors.map(({ id }) => id).toSorted();

async function listAll(key = api.account.key): Promise<Monitor[]> {
  return ((await api.as(key).get(MONITORS)).body as { monitors: Monitor[] }).monitors;
}

async function auditOf(action: string): Promise<AuditEntry[]> {
  const response = await member.get('/api/dashboard/audit-log').query({ action });
  return (response.body as { entries: AuditEntry[] }).entries;
}

const other = (): Promise<Monitor> => newMonitor(api, { name: 'Foreign' }, api.other.key);

describe.each(['labels', 'delete', 'check'])('POST /api/dashboard/monitors/%s', (action) => {
  test.each([
    [{}, 'is required'],
    [{ monitorIds: [] }, 'must contain at least one monitor'],
    [{ monitorIds: Array.from({ length: 501 }, () => randomUUID()) }, 'must contain at most 500 monitors'],
    [{ monitorIds: 'all' }, 'must be an array of monitor ids'],
  ])('refuses %#', async (body, message) => {
    expect(await post(action, body, 400)).toMatchObject({ errors: [{ path: 'monitorIds', message }] });
  });
});

describe('deleting monitors', () => {
  test('deletes those that exist, each with an entry in the audit log', async () => {
    const monitors = [await newMonitor(api, { name: 'One' }), await newMonitor(api, { name: 'Two' })];
    const [kept, foreign] = [await newMonitor(api), await other()];
    const monitorIds = [...ids(monitors), ids(monitors)[0]?.toUpperCase(), foreign.id, randomUUID()];
    const { deletedIds } = await post('delete', { monitorIds });
    expect((deletedIds as string[]).toSorted()).toEqual(ids(monitors));
    expect(ids(await listAll())).toEqual([kept.id]);
    expect(ids(await listAll(api.other.key))).toEqual([foreign.id]);
    const entries = await auditOf('monitor.deleted');
    expect(entries.map(({ target, actor }) => `${target.name} by a ${actor.type}`).toSorted()).toEqual([
      'One by a user',
      'Two by a user',
    ]);
    expect(await post('delete', { monitorIds })).toEqual({ deletedIds: [] });
  });

  test('concurrent requests for the same monitors delete each once', async () => {
    const monitorIds: string[] = [];
    for (let index = 0; index < 8; index += 1) monitorIds.push((await newMonitor(api)).id);
    const results = await Promise.all([
      post('delete', { monitorIds }),
      post('delete', { monitorIds: monitorIds.toReversed() }),
      post('labels', { monitorIds, set: { a: 'b' } }),
    ]);
    const deleted = results.flatMap(({ deletedIds = [] }) => deletedIds as string[]);
    expect(deleted.toSorted()).toEqual(monitorIds.toSorted());
    expect(await auditOf('monitor.deleted')).toHaveLength(8);
  });
});

describe('editing labels', () => {
  test('removes and adds labels, and leaves other fields and monitors alone', async () => {
    const secret = { headers: { Authorization: 'secret' } };
    const one = await newMonitor(api, { labels: { team: 'a', tier: 'web' }, ...secret });
    const two = await newMonitor(api, { labels: {} });
    const done = await newMonitor(api, { labels: { team: 'b' } });
    const [kept, foreign] = [await newMonitor(api, { labels: { tier: 'web' } }), await other()];
    const body = {
      monitorIds: [one.id, two.id, done.id, foreign.id],
      set: { team: 'b' },
      remove: ['tier', 'x'],
    };
    const { monitors, failures } = await post('labels', body);
    expect(failures).toEqual([]);
    const labels = { team: 'b' };
    const after = new Map((await listAll()).map((monitor) => [monitor.id, monitor]));
    expect(after.get(one.id)).toEqual({ ...one, labels, updatedAt: expect.any(String) });
    expect(after.get(two.id)).toEqual({ ...two, labels, updatedAt: expect.any(String) });
    expect(after.get(done.id)).toEqual(done);
    expect(after.get(kept.id)).toEqual(kept);
    expect((await listAll(api.other.key))[0]).toEqual(foreign);
    const shown = [one, two, done].map(({ id }) => ({ id, labels, updatedAt: after.get(id)?.updatedAt }));
    expect(monitors).toHaveLength(3);
    expect(monitors).toEqual(expect.arrayContaining(shown));
    const changes = (await auditOf('monitor.updated')).map((entry) => [entry.target.id, entry.changes]);
    expect(new Map(changes as [string, unknown][])).toEqual(
      new Map([
        [one.id, [{ field: 'labels', from: { team: 'a', tier: 'web' }, to: labels }]],
        [two.id, [{ field: 'labels', from: {}, to: labels }]],
      ]),
    );
    expect(await post('labels', body)).toMatchObject({ failures: [] });
    expect(await auditOf('monitor.updated')).toHaveLength(2);
  });

  test('channels that select the new label get the monitors at once', async () => {
    const { id } = await newMonitor(api);
    const channel = { name: 'Team', url: 'https://hooks.invalid/team', monitorIds: [] };
    const selector = { matchLabels: { team: 'b' } };
    await member.post('/api/dashboard/channels').send({ ...channel, selector });
    const assigned = (): Promise<unknown> =>
      api.database.pool.query('select from channel_monitors').then(({ rowCount }) => rowCount);
    expect(await assigned()).toBe(0);
    await post('labels', { monitorIds: [id], set: { team: 'b' } });
    expect(await assigned()).toBe(1);
  });

  test('says which monitors it cannot change, and changes the others', async () => {
    const full = Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`k${index}`, '']));
    const crowded = await newMonitor(api, { labels: full });
    const broken = await newMonitor(api, { headers: { A: 'b' } });
    await api.database.pool.query(
      `update monitors set sealed_headers = '{"A": "v1.00000000.lost"}' where id = $1`,
      [broken.id],
    );
    const fine = await newMonitor(api);
    const monitorIds = [crowded.id, broken.id, fine.id];
    const { monitors, failures } = await post('labels', { monitorIds, set: { team: 'b' } });
    expect(ids(monitors as Monitor[])).toEqual([fine.id]);
    expect(failures).toEqual(
      expect.arrayContaining([
        { id: crowded.id, message: expect.stringContaining('more than 32 labels') },
        { id: broken.id, message: expect.stringContaining('SECRETS_KEY') },
      ]),
    );
    const after = new Map((await listAll()).map(({ id, labels }) => [id, labels]));
    expect([after.get(crowded.id), after.get(broken.id)]).toEqual([full, {}]);
  });

  test.each([
    [{ set: { 'not valid': 'a' } }, 'set.not valid'],
    [{ remove: ['not valid'] }, 'remove.0'],
  ])('refuses %j', async (edit, path) => {
    const body = await post('labels', { monitorIds: [randomUUID()], ...edit }, 400);
    expect(body).toMatchObject({ errors: [{ path }] });
  });
});

describe('adding monitors to a channel', () => {
  test('keeps those that it lists, also of concurrent requests, and records the change', async () => {
    const monitors = [await newMonitor(api), await newMonitor(api), await newMonitor(api), await other()];
    const [listed = '', first = '', second = '', foreign = ''] = monitors.map(({ id }) => id);
    const fields = { name: 'Team', url: 'https://hooks.invalid/team', monitorIds: [listed] };
    const created = await member.post('/api/dashboard/channels').send(fields);
    const { id } = (created.body as { channel: { id: string } }).channel;
    const add = async (...monitorIds: string[]): Promise<number> => {
      const response = await member.post(`/api/dashboard/channels/${id}/monitors`).send({ monitorIds });
      expect(response.status).toBe(200);
      return (response.body as { added: number }).added;
    };
    expect(await Promise.all([add(listed, first, foreign, randomUUID()), add(second)])).toEqual([1, 1]);
    expect(await add(first, second)).toBe(0);
    const { body } = await member.get(`/api/dashboard/channels/${id}`);
    const { monitorIds } = (body as { channel: { monitorIds: string[] } }).channel;
    expect(monitorIds.toSorted()).toEqual([listed, first, second].toSorted());
    expect(
      (await auditOf('channel.updated')).map(({ changes }) => changes.map(({ field }) => field)),
    ).toEqual([['monitorIds'], ['monitorIds']]);
  });
});

describe('checking monitors', () => {
  interface Added {
    readonly region: string;
    readonly monitorId: string;
    readonly slot: number;
  }

  async function rechecks(region: string): Promise<Added[]> {
    return (await storedJobs(queue, region)).flatMap((jobId) => {
      const [, monitorId = '', slot = ''] = /^recheck-(.+)-(\d+)$/.exec(jobId) ?? [];
      return monitorId === '' ? [] : [{ region, monitorId, slot: Number(slot) }];
    });
  }

  test('adds one check for each region of each monitor, at the phase of the monitor', async () => {
    addExtraChecks = (...given) => queue.producers.addExtraChecks(...given);
    const one = await newMonitor(api, { regions: ['eu', 'us'] });
    const two = await newMonitor(api, { regions: ['eu'] });
    const foreign = await other();
    const monitorIds = [one.id, two.id, foreign.id, randomUUID()];
    expect(await post('check', { monitorIds })).toEqual({ monitors: 2, withinSeconds: 4 });
    const added = [...(await rechecks('eu')), ...(await rechecks('us'))];
    expect(added.map(({ region, monitorId }) => `${region} ${monitorId}`).toSorted()).toEqual(
      [`eu ${one.id}`, `eu ${two.id}`, `us ${one.id}`].toSorted(),
    );
    for (const { monitorId, slot } of added) expect(slot % 2_000).toBe(phaseMs(monitorId, 2_000));
    expect(await rechecks('default')).toEqual([]);
  });

  test('spreads the checks of many monitors, and a repetition has the same slots', async () => {
    const calls: Added[] = [];
    addExtraChecks = (region, _reason, checks) => {
      calls.push(...checks.map(({ monitorId, slot }) => ({ region, monitorId, slot })));
      return Promise.resolve();
    };
    // Frequent monitors are checked within this time anyway.
    const [slow, frequent] = [await newMonitor(api), await newMonitor(api, { interval: 10 })];
    const unknown = Array.from({ length: 50 }, () => randomUUID());
    const monitorIds = [slow.id, frequent.id, ...unknown];
    expect(await post('check', { monitorIds })).toEqual({ monitors: 2, withinSeconds: 40 });
    expect(calls).toEqual([{ region: 'default', monitorId: slow.id, slot: expect.any(Number) }]);
    expect((calls[0]?.slot ?? 0) % 20_000).toBe(phaseMs(slow.id, 20_000));
  });

  test('returns 503 if the checks of a region cannot be added', async () => {
    addExtraChecks = (region) =>
      region === 'eu' ? Promise.reject(new Error('no queue')) : Promise.resolve();
    const { id } = await newMonitor(api, { regions: ['eu', 'us'] });
    const body = await post('check', { monitorIds: [id] }, 503);
    expect(body).toMatchObject({ detail: expect.stringContaining('Try again') });
  });
});
