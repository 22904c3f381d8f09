import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { slotOffsetMs } from '@tocsin/core/schedule/slots';
import type { Producers } from '@tocsin/queue/producers';
import { newChannel } from '../testing/channels.ts';
import { listMonitors, newMonitor } from '../testing/monitors.ts';
import { storedJobs } from '../testing/schedules.ts';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';
import { useTestQueue } from '../testing/test-queue.ts';

const PATH = '/api/dashboard/monitors';

let addExtraChecks: Producers['addExtraChecks'];
const queue = await useTestQueue();
const api = await useTestApi({ producers: { addExtraChecks: (...given) => addExtraChecks(...given) } });
const member = await signIn(api, { role: 'member' });
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

const listAll = (key = api.account.key): Promise<Monitor[]> => listMonitors(api.as(key));

async function auditOf(action: string): Promise<AuditEntry[]> {
  const response = await member.get('/api/dashboard/audit-log').query({ action });
  return (response.body as { entries: AuditEntry[] }).entries;
}

const other = (): Promise<Monitor> => newMonitor(api, { name: 'Foreign' }, api.other.key);

describe.each(['labels', 'pause', 'delete', 'check'])('POST /api/dashboard/monitors/%s', (action) => {
  test.each([
    ['no monitor', []],
    ['501 monitors', Array.from({ length: 501 }, () => randomUUID())],
  ])('refuses %s', async (_, monitorIds) => {
    const enabled = action === 'pause' ? { enabled: false } : {};
    expect(await post(action, { monitorIds, ...enabled }, 400)).toMatchObject({
      errors: [{ path: 'monitorIds' }],
    });
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
    const entries = (await auditOf('monitor.deleted')).map(({ target, actor }) => [target.name, actor.type]);
    expect(new Map(entries as [string, string][])).toEqual(
      new Map(Object.entries({ One: 'user', Two: 'user' })),
    );
    expect(await post('delete', { monitorIds })).toEqual({ deletedIds: [] });
  });

  test('concurrent requests for the same monitors delete each once', async () => {
    const monitorIds: string[] = [];
    for (let index = 0; index < 4; index += 1) monitorIds.push((await newMonitor(api)).id);
    const results = await Promise.all([
      post('delete', { monitorIds }),
      post('delete', { monitorIds: monitorIds.toReversed() }),
      post('labels', { monitorIds, set: { a: 'b' } }),
    ]);
    const deleted = results.flatMap(({ deletedIds = [] }) => deletedIds as string[]);
    expect(deleted.toSorted()).toEqual(monitorIds.toSorted());
    expect(await auditOf('monitor.deleted')).toHaveLength(4);
  });
});

test('pausing and resuming monitors', async () => {
  const [one, foreign] = [await newMonitor(api, { headers: { A: 'b' } }), await other()];
  const monitorIds = ids([one, foreign]);
  expect(await post('pause', { monitorIds, enabled: false })).toEqual({
    monitors: [{ id: one.id, enabled: false, updatedAt: expect.any(String) }],
    failures: [],
  });
  const [paused] = await listAll();
  expect(paused).toEqual({ ...one, enabled: false, updatedAt: expect.any(String) });
  expect(await listAll(api.other.key)).toEqual([foreign]);
  expect(await post('check', { monitorIds })).toMatchObject({ monitors: 0 });
  await post('pause', { monitorIds, enabled: true });
  expect(await listAll()).toEqual([{ ...one, updatedAt: expect.any(String) }]);
});

describe('editing labels', () => {
  test('removes and adds labels, and leaves other fields and monitors alone', async () => {
    const headers = { Authorization: 'secret' };
    const one = await newMonitor(api, { labels: { team: 'a', tier: 'web' }, headers });
    const two = await newMonitor(api, { labels: {} });
    const done = await newMonitor(api, { labels: { team: 'b' } });
    const [kept, foreign] = [await newMonitor(api, { labels: { tier: 'web' } }), await other()];
    const monitorIds = [one, two, done, foreign].map(({ id }) => id);
    const body = { monitorIds, set: { team: 'b' }, remove: ['tier', 'x'] };
    const { monitors, failures } = await post('labels', body);
    expect(failures).toEqual([]);
    const labels = { team: 'b' };
    const after = new Map((await listAll()).map((monitor) => [monitor.id, monitor]));
    for (const monitor of [one, two])
      expect(after.get(monitor.id)).toEqual({ ...monitor, labels, updatedAt: expect.any(String) });
    for (const monitor of [done, kept]) expect(after.get(monitor.id)).toEqual(monitor);
    expect(await listAll(api.other.key)).toEqual([foreign]);
    const shown = [one, two, done].map(({ id }) => ({ id, labels, updatedAt: after.get(id)?.updatedAt }));
    expect(new Set(monitors as object[])).toEqual(new Set(shown));
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

  test('refuses invalid labels', async () => {
    const edit = { set: { 'not valid': 'a' }, remove: ['not valid'] };
    const body = await post('labels', { monitorIds: [randomUUID()], ...edit }, 400);
    expect(body).toMatchObject({ errors: [{ path: 'set.not valid' }, { path: 'remove.0' }] });
  });
});

test('adding monitors to a channel keeps the listed ones, even with concurrent requests, and is audited', async () => {
  const monitors = [await newMonitor(api), await newMonitor(api), await newMonitor(api), await other()];
  const [listed = '', first = '', second = '', foreign = ''] = monitors.map(({ id }) => id);
  const { channel } = await newChannel(member, { allMonitors: false, monitorIds: [listed] });
  const path = `/api/dashboard/channels/${channel.id}`;
  const add = async (...monitorIds: string[]): Promise<unknown> =>
    (await member.post(`${path}/monitors`).send({ monitorIds })).body;
  const results = await Promise.all([add(listed, first, foreign, randomUUID()), add(second)]);
  expect(results).toEqual([{ added: 1 }, { added: 1 }]);
  expect(await add(first, second)).toEqual({ added: 0 });
  const { body } = await member.get(path);
  const { monitorIds } = (body as { channel: { monitorIds: string[] } }).channel;
  expect(monitorIds.toSorted()).toEqual([listed, first, second].toSorted());
  const changed = (await auditOf('channel.updated')).map(({ changes }) => changes.map(({ field }) => field));
  expect(changed).toEqual([['monitorIds'], ['monitorIds']]);
});

describe('checking monitors', () => {
  async function rechecks(region: string): Promise<{ place: string; monitorId: string; slot: number }[]> {
    return (await storedJobs(queue, region)).flatMap((jobId) => {
      const [, monitorId = '', slot = ''] = /^recheck-(.+)-(\d+)$/.exec(jobId) ?? [];
      return monitorId === '' ? [] : [{ place: `${region} ${monitorId}`, monitorId, slot: Number(slot) }];
    });
  }

  test("adds one check for each region of each monitor, at the monitor's offset", async () => {
    addExtraChecks = (...given) => queue.producers.addExtraChecks(...given);
    const one = await newMonitor(api, { regions: ['eu', 'us'] });
    const two = await newMonitor(api, { regions: ['eu'] });
    const foreign = await other();
    const monitorIds = [one.id, two.id, foreign.id, randomUUID()];
    expect(await post('check', { monitorIds })).toEqual({ monitors: 2, withinSeconds: 4 });
    const added = [...(await rechecks('eu')), ...(await rechecks('us'))];
    expect(added.map(({ place }) => place).toSorted()).toEqual(
      [`eu ${one.id}`, `eu ${two.id}`, `us ${one.id}`].toSorted(),
    );
    for (const { monitorId, slot } of added) expect(slot % 2_000).toBe(slotOffsetMs(monitorId, 2_000));
    expect(await rechecks('default')).toEqual([]);
  });

  test('spreads the checks of many monitors, and a repetition has the same slots', async () => {
    const added: { monitorId: string; slot: number }[] = [];
    addExtraChecks = async (_region, _reason, checks) => void added.push(...checks);
    // Frequent monitors are checked within this time anyway.
    const [slow, frequent] = [await newMonitor(api), await newMonitor(api, { interval: 10 })];
    const unknown = Array.from({ length: 50 }, () => randomUUID());
    const monitorIds = [slow.id, frequent.id, ...unknown];
    expect(await post('check', { monitorIds })).toEqual({ monitors: 2, withinSeconds: 40 });
    expect(added).toMatchObject([{ monitorId: slow.id }]);
    expect((added[0]?.slot ?? 0) % 20_000).toBe(slotOffsetMs(slow.id, 20_000));
  });

  test('returns 503 if the checks of a region cannot be added', async () => {
    addExtraChecks = (region) =>
      region === 'eu' ? Promise.reject(new Error('no queue')) : Promise.resolve();
    const { id } = await newMonitor(api, { regions: ['eu', 'us'] });
    await post('check', { monitorIds: [id] }, 503);
  });
});
