import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { LIMITS } from '@tocsin/contracts/limits';
import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { newChannel } from '../testing/channels.ts';
import { FULL_MONITOR, MONITORS, newMonitor, recordCheck } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const addStatusChanges = jest.fn((_ids: readonly string[]) => Promise.resolve());
let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ producers: { addStatusChanges } });
});
afterAll(() => api.close());

type Entry = Record<string, unknown> & { externalId: string };
const entry = (externalId: string, fields: Record<string, unknown> = {}): Entry => ({
  externalId,
  name: externalId,
  url: `https://${externalId}.example/`,
  ...fields,
});

/** @param body JSON, or its text */
async function put(
  body: object | string,
  key?: string,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const { status, body: received } = await api.as(key).put(MONITORS).type('json').send(body);
  return { status, body: received as Record<string, unknown> };
}

/** @param options `prune`, `dryRun` */
async function apply(source: string, monitors: Entry[], options: object = {}): Promise<MonitorSetResult> {
  const { status, body } = await put({ source, monitors, ...options });
  expect([status, body]).toEqual([200, expect.anything()]);
  return body as unknown as MonitorSetResult;
}

async function monitorsOf(source: string): Promise<Monitor[]> {
  const { body } = await api.as().get(MONITORS);
  const { monitors } = body as { monitors: Monitor[] };
  return monitors
    .filter((monitor) => monitor.source === source)
    .toSorted((one, other) => ((one.externalId ?? '') < (other.externalId ?? '') ? -1 : 1));
}

const keysOf = (members: readonly { externalId: string | null }[]): (string | null)[] =>
  members.map(({ externalId }) => externalId);

describe('a set', () => {
  test('creates missing monitors, and changes nothing when it is applied again', async () => {
    const { source: _, ...full } = { ...FULL_MONITOR, externalId: 'twice-full' };
    const set = [entry('twice-b'), entry('twice-a'), full];
    const first = await apply('twice', set);
    expect(keysOf(first.created)).toEqual(['twice-a', 'twice-b', 'twice-full']);
    expect(first).toMatchObject({ changed: true, updated: [], deleted: [], unchanged: [], unlisted: [] });
    const made = await monitorsOf('twice');
    expect(made[2]).toMatchObject({ ...full, source: 'twice', status: 'PENDING' });
    expect(api.enqueued.slice(-3)).toEqual(
      made.map(({ id, regions }) => ({ monitorId: id, regions: regions.length > 0 ? regions : ['default'] })),
    );
    const enqueued = api.enqueued.length;
    const second = await apply('twice', set, { prune: true });
    expect(second).toMatchObject({ changed: false, created: [], updated: [], deleted: [], unlisted: [] });
    expect(keysOf(second.unchanged)).toEqual(['twice-b', 'twice-a', 'twice-full']);
    expect(await monitorsOf('twice')).toEqual(made);
    expect(api.enqueued).toHaveLength(enqueued);
  });

  test('reports the fields that differ, and resets an omitted field to its default', async () => {
    await apply('update', [
      entry('update-1', { interval: 30, body: 'x', method: 'POST' }),
      entry('update-2'),
    ]);
    const [before] = await monitorsOf('update');
    const result = await apply('update', [entry('update-1', { name: 'New' }), entry('update-2')]);
    const fields = ['name', 'interval', 'method', 'body'];
    expect(result.updated).toEqual([{ id: before?.id, externalId: 'update-1', fields }]);
    expect(keysOf(result.unchanged)).toEqual(['update-2']);
    const [after] = await monitorsOf('update');
    expect(after).toMatchObject({ id: before?.id, name: 'New', interval: 60, method: 'GET', body: null });
  });

  test('deletes unlisted monitors only with prune, and only in its source', async () => {
    const others = [
      await newMonitor(api, { externalId: 'prune-other', source: 'prune-2' }),
      await newMonitor(api, { externalId: 'prune-free' }),
    ];
    await apply('prune', [entry('prune-1'), entry('prune-2')]);
    const [, gone] = await monitorsOf('prune');
    const kept = await apply('prune', [entry('prune-1')]);
    expect([kept.changed, keysOf(kept.unlisted), kept.deleted]).toEqual([false, ['prune-2'], []]);
    const pruned = await apply('prune', [entry('prune-1')], { prune: true });
    expect(pruned.deleted).toEqual([{ id: gone?.id, externalId: 'prune-2' }]);
    expect((await api.as().get(`${MONITORS}/${gone?.id}`)).status).toBe(404);
    for (const { id } of others) expect((await api.as().get(`${MONITORS}/${id}`)).status).toBe(200);
    await newMonitor(api, { name: 'no key', source: 'prune' });
    expect(keysOf((await apply('prune', [], { prune: true })).deleted)).toEqual(['prune-1', null]);
    expect(await monitorsOf('prune')).toEqual([]);
  });

  test('of another account with the same source and keys is independent', async () => {
    await apply('shared', [entry('shared')]);
    const monitors = [entry('shared', { name: 'Theirs' })];
    const { status, body } = await put({ source: 'shared', monitors, prune: true }, api.other.key);
    expect([status, body]).toMatchObject([200, { unchanged: [], updated: [] }]);
    expect((await monitorsOf('shared'))[0]?.name).toBe('shared');
  });

  test('never takes over a monitor from another source, or without a source', async () => {
    const none = await newMonitor(api, { externalId: 'taken-none' });
    const other = await newMonitor(api, { externalId: 'taken-other', source: 'theirs', name: 'Theirs' });
    for (const dryRun of [true, false]) {
      const set = [entry('taken-new'), entry('taken-none'), entry('taken-other')];
      const { status, body } = await put({ source: 'taken', monitors: set, dryRun });
      expect([status, body['conflictingId']]).toEqual([409, undefined]);
      const messages = (body['errors'] as { message: string }[]).map(({ message }) => message);
      expect(messages).toEqual([
        `"taken-none" is the externalId of monitor ${none.id} ("Shop"), which has no source`,
        `"taken-other" is the externalId of monitor ${other.id} ("Theirs"), of source "theirs"`,
      ]);
    }
    expect(await monitorsOf('taken')).toEqual([]);
    const only = await put({ source: 'taken', monitors: [entry('taken-new'), entry('taken-other')] });
    expect([only.status, only.body['conflictingId']]).toEqual([409, other.id]);
  });

  test('in a dry run returns the plan and changes nothing', async () => {
    await apply('dry', [entry('dry-1'), entry('dry-2')]);
    const before = await monitorsOf('dry');
    const enqueued = api.enqueued.length;
    const set = [entry('dry-0'), entry('dry-1', { name: 'x' })];
    expect(await apply('dry', set, { dryRun: true, prune: true })).toMatchObject({
      dryRun: true,
      changed: true,
      created: [{ id: null, externalId: 'dry-0' }],
      updated: [{ id: before[0]?.id, externalId: 'dry-1', fields: ['name'] }],
      deleted: [{ id: before[1]?.id, externalId: 'dry-2' }],
    });
    expect(await monitorsOf('dry')).toEqual(before);
    expect(api.enqueued).toHaveLength(enqueued);
  });

  test('names the monitor that a new one probably replaces under another externalId', async () => {
    await apply('renamed', [entry('renamed-1')]);
    const [old] = await monitorsOf('renamed');
    const set = [entry('renamed-2', { name: 'renamed-1', url: old?.url })];
    const from = { id: old?.id, externalId: 'renamed-1', createdAt: old?.createdAt, hasOpenIncident: false };
    const { created } = await apply('renamed', set, { dryRun: true });
    expect(created).toEqual([{ id: null, externalId: 'renamed-2', probablyRenamedFrom: from }]);
    await recordCheck(api, old?.id ?? '', true);
    const applied = await apply('renamed', set, { prune: true });
    expect(applied.created).toMatchObject([{ probablyRenamedFrom: { ...from, hasOpenIncident: true } }]);
  });

  test('with the ETag of a dry run applies exactly that plan or nothing', async () => {
    await apply('seen', [entry('seen-1'), entry('seen-2')]);
    const set = { source: 'seen', monitors: [entry('seen-1', { name: 'x' }), entry('seen-3')], prune: true };
    const dryRun = { ...set, dryRun: true };
    /** @returns the ETag of a dry run */
    const look = async (): Promise<string> => (await api.as().put(MONITORS).send(dryRun)).get('etag') ?? '';
    const send = async (etag: string): Promise<number> =>
      (await api.as().put(MONITORS).set('If-Match', etag).send(set)).status;
    const first = await look();
    expect(await look()).toBe(first);
    // Without the plan, each would be deleted, overwritten or not created unnoticed.
    const unseen = await newMonitor(api, { externalId: 'seen-4', source: 'seen' });
    expect(await send(first)).toBe(412);
    const second = await look();
    await api.as().put(`${MONITORS}/${unseen.id}`).send({ name: 'of use after all' }).expect(200);
    expect(await send(second)).toBe(412);
    const third = await look();
    await newMonitor(api, { externalId: 'seen-3', source: 'seen' });
    expect(await send(third)).toBe(412);
    expect((await monitorsOf('seen')).map(({ name }) => name)).not.toContain('x');
    // A compressing proxy forwards the ETag in this form.
    expect(await send(`W/${await look()}`)).toBe(200);
    expect((await monitorsOf('seen')).map(({ name }) => name)).toEqual(['x', 'seen-3']);
  });

  test('with thresholds that cause status changes hints at the alerts', async () => {
    await apply('status', [entry('status-1', { failureThreshold: 3 }), entry('status-2')]);
    const [first, second] = await monitorsOf('status');
    await newChannel(await signIn(api), { monitorIds: [first?.id], allMonitors: false });
    for (const monitor of [first, second]) await recordCheck(api, monitor?.id ?? '');
    await recordCheck(api, first?.id ?? '', true);
    await apply('status', [entry('status-1'), entry('status-2', { failureThreshold: 2 })]);
    expect((await monitorsOf('status')).map(({ status }) => status)).toEqual(['DOWN', 'UP']);
    const { rows } = await api.database.pool.query<{ id: string }>(
      `select id from status_changes where monitor_id = $1 and to_status = 'DOWN'`,
      [first?.id],
    );
    expect(addStatusChanges.mock.calls).toEqual([[[rows[0]?.id]]]);
  });
});

describe('an invalid set', () => {
  test('is refused with all errors by index and externalId, and nothing is written', async () => {
    const { status, body } = await put({
      source: 'bad',
      monitors: [
        entry('bad-0'),
        entry('bad-1', { url: 'ftp://x', intervall: 5 }),
        { name: 'no key', url: 'https://x.example' },
        entry('bad-0'),
        'text',
        entry('bad-5', { method: 'HEAD', assertions: { bodyContains: 'x' }, source: 'bad' }),
        entry('bad-1'),
      ],
      purge: true,
    });
    expect(status).toBe(400);
    const errors = body['errors'] as { path: string; message: string }[];
    expect(errors.map(({ path }) => path)).toEqual([
      'purge',
      'monitors.1.url',
      'monitors.1.intervall',
      'monitors.2.externalId',
      'monitors.3.externalId',
      'monitors.4',
      'monitors.5.source',
      'monitors.5.assertions.bodyContains',
      'monitors.6.externalId',
    ]);
    expect(errors[1]?.message).toMatch(/must be a full URL.* \(externalId "bad-1"\)$/);
    expect(errors[4]?.message).toBe('"bad-0" is also the externalId of monitors.0');
    expect(await monitorsOf('bad')).toEqual([]);
  });

  test('has too many monitors, or has none and no source: 400', async () => {
    const many = await put({ source: 'x', monitors: Array.from({ length: 10_001 }, () => 0) });
    expect(many).toMatchObject({ status: 400, body: { errors: [{ path: 'monitors' }] } });
    const none = await put({});
    expect(none).toMatchObject({ status: 400, body: { errors: [{ path: 'source' }, { path: 'monitors' }] } });
  });

  test('has too many different templates: 400', async () => {
    const channelsWith = (count: number) =>
      Array.from({ length: 300 }, (_, index) => ({
        externalId: `template-${index}`,
        name: 'ops',
        url: 'https://hooks.example/',
        format: 'custom',
        template: String(index % count),
      }));
    const set = { source: 'templates', monitors: [], dryRun: true };
    expect((await put({ ...set, channels: channelsWith(100) })).status).toBe(200);
    const message = expect.stringMatching(/^must be one of at most 100 different templates in a set/);
    expect(await put({ ...set, channels: channelsWith(101) })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'channels.100.template', message }, { path: 'channels.201.template' }] },
    });
  });

  test('may be larger than other bodies, up to 32 MiB, and requires the scope write except for a dry run', async () => {
    const body = 'x'.repeat(60_000);
    const monitors = Array.from({ length: 8 }, (_, index) => entry(`large-${index}`, { body }));
    const { readKey } = api.account;
    expect((await put({ source: 'large', monitors }, readKey)).status).toBe(403);
    expect((await put({ source: 'large', monitors, dryRun: 'true' }, readKey)).status).toBe(403);
    expect((await put({ source: 'large', monitors, dryRun: true }, readKey)).status).toBe(200);
    const most = ' '.repeat(32 * 1024 * 1024);
    expect((await put(most.replace(/^ {29}/, '{"source":"a","monitors":[]}'))).status).toBe(200);
    expect((await put(`${most} `)).status).toBe(413);
  });

  test('with too many values is refused before it is parsed, or with one error if one field has them', async () => {
    const body = (monitors: string): string => `{"source":"bomb","monitors":${monitors}}`;
    for (const text of [
      body(`[${'{},'.repeat(LIMITS.bodyValues)}{}]`),
      '{"a":'.padEnd(2 * LIMITS.bodyValues, '['),
    ])
      expect((await put(text)).status).toBe(413);
    // Commas and brackets in strings do not count.
    const text = JSON.stringify('[{,\\"'.repeat(400_000));
    expect((await put(body(`[{"externalId":"b","name":${text}}]`))).status).toBe(400);
    const regions = `[${'1,'.repeat(400_000)}1]`;
    const headers = `{${Array.from({ length: 200_000 }, (_, index) => `"a b${index}":1`).join(',')}}`;
    expect(await put(body(`[{"externalId":"b","regions":${regions},"headers":${headers}}]`))).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'monitors.0.regions' }, { path: 'monitors.0.headers' }] },
    });
  });
});
