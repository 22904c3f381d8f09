import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { LIMITS } from '@tocsin/contracts/limits';
import { type MonitorSetResult, monitorSetResultSchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { checkOf, FULL_MONITOR, MONITORS, newMonitor, recordCheck } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const addStatusChanges = jest.fn((_ids: readonly string[]) => Promise.resolve());
let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({
    producers: {
      addTrigger: () => Promise.reject(new Error('no queue')),
      addStatusChanges,
      addDeliveries: () => Promise.resolve(),
    },
  });
});
afterAll(() => api.close());

type Entry = Record<string, unknown> & { externalId: string };
const entry = (externalId: string, fields: Record<string, unknown> = {}): Entry => ({
  externalId,
  name: externalId,
  url: `https://${externalId}.example/`,
  ...fields,
});

interface SetResponse {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function put(body: object, key?: string): Promise<SetResponse> {
  const { status, body: received } = await api.as(key).put(MONITORS).send(body);
  return { status, body: received as Record<string, unknown> };
}

async function send(text: string): Promise<{ status: number; body: unknown }> {
  const { status, body } = await api.as().put(MONITORS).type('json').send(text);
  return { status, body };
}

/** @param options `prune`, `dryRun` */
async function apply(source: string, monitors: Entry[], options: object = {}): Promise<MonitorSetResult> {
  const { status, body } = await put({ source, monitors, ...options });
  expect([status, body]).toEqual([200, expect.anything()]);
  return monitorSetResultSchema.parse(body);
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
  test('creates missing monitors; applied again, it changes nothing and reports that', async () => {
    const { source: _, ...full } = { ...FULL_MONITOR, externalId: 'twice-full' };
    const set = [entry('twice-b'), entry('twice-a'), full];
    const first = await apply('twice', set);
    expect(keysOf(first.created)).toEqual(['twice-a', 'twice-b', 'twice-full']);
    expect(first).toMatchObject({ changed: true, updated: [], deleted: [], unchanged: [], unlisted: [] });
    const made = await monitorsOf('twice');
    expect(made.map(({ id }) => id)).toEqual(first.created.map(({ id }) => id));
    expect(made[2]).toMatchObject({ ...full, source: 'twice', status: 'PENDING' });
    expect(api.touched.slice(-3)).toEqual(
      made.map(({ id, regions }) => ({ monitorId: id, regions: regions.length > 0 ? regions : ['default'] })),
    );
    const touches = api.touched.length;
    const second = await apply('twice', set, { prune: true });
    expect(second).toMatchObject({ changed: false, created: [], updated: [], deleted: [], unlisted: [] });
    expect(keysOf(second.unchanged)).toEqual(['twice-b', 'twice-a', 'twice-full']);
    expect(await monitorsOf('twice')).toEqual(made);
    expect(api.touched).toHaveLength(touches);
  });

  test('reports the fields that differ; an omitted field gets its default again', async () => {
    await apply('update', [
      entry('update-1', { interval: 30, body: 'x', method: 'POST' }),
      entry('update-2'),
    ]);
    const [before] = await monitorsOf('update');
    const result = await apply('update', [entry('update-1', { name: 'New' }), entry('update-2')]);
    expect(result.updated).toEqual([
      { id: before?.id, externalId: 'update-1', fields: ['name', 'interval', 'method', 'body'] },
    ]);
    expect(keysOf(result.unchanged)).toEqual(['update-2']);
    const [after] = await monitorsOf('update');
    expect(after).toMatchObject({ id: before?.id, name: 'New', interval: 60, method: 'GET', body: null });
    expect(Date.parse(after?.updatedAt ?? '')).toBeGreaterThan(Date.parse(before?.updatedAt ?? ''));
  });

  test('deletes unlisted monitors only with prune, and only of its source', async () => {
    const otherUser = await newMonitor(api, { externalId: 'prune-other', source: 'prune-2' });
    const free = await newMonitor(api, { externalId: 'prune-free' });
    await apply('prune', [entry('prune-1'), entry('prune-2')]);
    const [, gone] = await monitorsOf('prune');
    await recordCheck(api, gone?.id ?? '');
    const kept = await apply('prune', [entry('prune-1')]);
    expect([kept.changed, keysOf(kept.unlisted), kept.deleted]).toEqual([false, ['prune-2'], []]);
    const pruned = await apply('prune', [entry('prune-1')], { prune: true });
    expect(pruned.deleted).toEqual([{ id: gone?.id, externalId: 'prune-2' }]);
    expect((await api.as().get(`${MONITORS}/${gone?.id}`)).status).toBe(404);
    for (const { id } of [otherUser, free])
      expect((await api.as().get(`${MONITORS}/${id}`)).status).toBe(200);
    await purgeDeletedMonitors(api.context.db);
    const { rows } = await api.database.pool.query('select from events where monitor_id = $1', [gone?.id]);
    expect(rows).toEqual([]);
  });

  test('of another account with the same source and keys is independent', async () => {
    await apply('shared', [entry('shared')]);
    const { status, body } = await put(
      { source: 'shared', monitors: [entry('shared', { name: 'Theirs' })], prune: true },
      api.other.key,
    );
    expect([status, body]).toEqual([200, expect.objectContaining({ unchanged: [], updated: [] })]);
    expect((await monitorsOf('shared'))[0]?.name).toBe('shared');
  });

  test('never takes over a monitor of another source, or without a source', async () => {
    const none = await newMonitor(api, { externalId: 'taken-none' });
    const other = await newMonitor(api, { externalId: 'taken-other', source: 'theirs', name: 'Theirs' });
    for (const dryRun of [true, false]) {
      const set = [entry('taken-new'), entry('taken-none'), entry('taken-other')];
      const { status, body } = await put({ source: 'taken', monitors: set, dryRun });
      expect([status, body['conflictingId'], body['type'], body['errors']]).toEqual([
        409,
        undefined,
        'urn:tocsin:problem:conflict',
        [
          {
            path: 'monitors.1.externalId',
            message: `"taken-none" is the externalId of monitor ${none.id} ("Shop"), which has no source`,
          },
          {
            path: 'monitors.2.externalId',
            message: `"taken-other" is the externalId of monitor ${other.id} ("Theirs"), of source "theirs"`,
          },
        ],
      ]);
    }
    expect(await monitorsOf('taken')).toEqual([]);
    const only = await put({ source: 'taken', monitors: [entry('taken-new'), entry('taken-other')] });
    expect([only.status, only.body['conflictingId']]).toEqual([409, other.id]);
  });

  test('in a dry run returns the plan and changes nothing', async () => {
    await apply('dry', [entry('dry-1'), entry('dry-2')]);
    const before = await monitorsOf('dry');
    const touches = api.touched.length;
    const result = await apply('dry', [entry('dry-0'), entry('dry-1', { name: 'x' })], {
      dryRun: true,
      prune: true,
    });
    expect(result).toEqual({
      source: 'dry',
      dryRun: true,
      changed: true,
      created: [{ id: null, externalId: 'dry-0' }],
      updated: [{ id: before[0]?.id, externalId: 'dry-1', fields: ['name'] }],
      deleted: [{ id: before[1]?.id, externalId: 'dry-2' }],
      unchanged: [],
      unlisted: [],
    });
    expect(await monitorsOf('dry')).toEqual(before);
    expect(api.touched).toHaveLength(touches);
  });

  test('with the ETag of a dry run applies exactly that plan or nothing', async () => {
    await apply('seen', [entry('seen-1'), entry('seen-2')]);
    const set = { source: 'seen', monitors: [entry('seen-1', { name: 'x' }), entry('seen-3')], prune: true };
    const look = async (): Promise<string> => {
      const response = await api
        .as()
        .put(MONITORS)
        .send({ ...set, dryRun: true });
      return response.get('etag') ?? '';
    };
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
    // As a compressing proxy forwards it.
    expect(await send(`W/${await look()}`)).toBe(200);
    expect((await monitorsOf('seen')).map(({ name }) => name)).toEqual(['x', 'seen-3']);
  });

  test('with thresholds that cause status changes opens incidents and hints at the alerts', async () => {
    await apply('status', [entry('status-1', { failureThreshold: 3 }), entry('status-2')]);
    const [first, second] = await monitorsOf('status');
    await createChannel(api.context, systemActor(api.account.id), {
      name: 'ops',
      url: 'https://hooks.example',
      monitorIds: [first?.id ?? ''],
    });
    await recordChecks(api.context.db, [checkOf(first?.id ?? ''), checkOf(second?.id ?? '')]);
    await recordCheck(api, first?.id ?? '', true);
    await apply('status', [entry('status-1'), entry('status-2', { failureThreshold: 2 })]);
    expect((await monitorsOf('status')).map(({ status }) => status)).toEqual(['DOWN', 'UP']);
    const { rows } = await api.database.pool.query<{ id: string }>(
      `select c.id from status_changes c join incidents i on i.monitor_id = c.monitor_id
       where c.monitor_id = $1 and c.to_status = 'DOWN'`,
      [first?.id],
    );
    expect(addStatusChanges.mock.calls).toEqual([[[rows[0]?.id]]]);
  });

  test('without monitors prunes all of its source', async () => {
    await apply('nothing', [entry('nothing-1')]);
    await newMonitor(api, { name: 'no key', source: 'nothing' });
    expect(keysOf((await apply('nothing', [], { prune: true })).deleted)).toEqual(['nothing-1', null]);
    expect(await monitorsOf('nothing')).toEqual([]);
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
    expect(errors[2]?.message).toMatch(/did you mean `interval`/);
    expect(errors[4]?.message).toBe('"bad-0" is also the externalId of monitors.0');
    // Although the other one also has errors.
    expect(errors.at(-1)?.message).toBe('"bad-1" is also the externalId of monitors.1');
    expect(await monitorsOf('bad')).toEqual([]);
  });

  test('gets at most a hundred errors', async () => {
    const monitors = Array.from({ length: 500 }, (_, index) => ({ externalId: `many-${index}` }));
    const { status, body } = await put({ source: 'many', monitors });
    expect([status, (body['errors'] as unknown[]).length]).toEqual([400, 100]);
  });

  test.each([
    ['no source', { monitors: [] }, 'source'],
    ['a blank source', { source: ' ', monitors: [] }, 'source'],
    ['no monitors', { source: 'x' }, 'monitors'],
    ['too many', { source: 'x', monitors: Array.from({ length: 10_001 }, () => 0) }, 'monitors'],
  ])('%s: 400', async (_, set, path) => {
    const { status, body } = await put(set);
    expect([status, body['errors']]).toEqual([400, [expect.objectContaining({ path })]]);
  });

  test('may be larger than other bodies, up to 32 MiB, and requires the scope write except for a dry run', async () => {
    const large = 'x'.repeat(60_000);
    // About 33 of the 33.5 million bytes.
    const most = Array.from({ length: 550 }, (_, index) => entry(`large-${index}`, { body: large }));
    const monitors = most.slice(0, 8);
    const { readKey } = api.account;
    expect((await put({ source: 'large', monitors }, readKey)).status).toBe(403);
    expect((await put({ source: 'large', monitors, dryRun: 'true' }, readKey)).status).toBe(403);
    expect((await put({ source: 'large', monitors: most, dryRun: true }, readKey)).status).toBe(200);
    expect(keysOf((await apply('large', monitors)).created)).toHaveLength(8);
    const tooLarge = await put({ source: 'x'.repeat(32 * 1024 * 1024), monitors: [] });
    expect([tooLarge.status, tooLarge.body['detail']]).toEqual([
      413,
      'The body must be at most 33554432 bytes.',
    ]);
    expect(
      (
        await api
          .as()
          .post(MONITORS)
          .send({ name: 'x'.repeat(300_000) })
      ).status,
    ).toBe(413);
  });

  test('with too many values is refused before it is parsed, or with one error if one field has them', async () => {
    const body = (monitors: string): string => `{"source":"bomb","monitors":${monitors}}`;
    for (const text of [
      body(`[${'{},'.repeat(LIMITS.bodyValues)}{}]`),
      '{"a":'.padEnd(2 * LIMITS.bodyValues, '['),
    ]) {
      const { status, body: response } = await send(text);
      expect([status, (response as { detail: string }).detail]).toEqual([
        413,
        `The body must contain at most ${LIMITS.bodyValues} values.`,
      ]);
    }
    // Commas and brackets in strings do not count.
    const text = JSON.stringify('[{,\\"'.repeat(400_000));
    expect((await send(body(`[{"externalId":"b","name":${text}}]`))).status).toBe(400);
    const regions = `[${'1,'.repeat(400_000)}1]`;
    const headers = `{${Array.from({ length: 200_000 }, (_, index) => `"a b${index}":1`).join(',')}}`;
    const overfull = await send(body(`[{"externalId":"b","regions":${regions},"headers":${headers}}]`));
    expect([overfull.status, overfull.body]).toEqual([
      400,
      expect.objectContaining({
        errors: ['regions', 'headers'].map((field) => ({
          path: `monitors.0.${field}`,
          message: 'must not contain more than 1000 values (externalId "b")',
        })),
      }),
    ]);
  });

  test('the dashboard API has no route for sets', async () => {
    const response = await api.as().put('/api/dashboard/monitors').send({ source: 'x', monitors: [] });
    expect(response.status).not.toBe(200);
  });
});
