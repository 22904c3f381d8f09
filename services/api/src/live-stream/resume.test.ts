import { afterEach, describe, expect, test } from '@jest/globals';
import { listMonitorTimestamps } from '@tocsin/db/monitors/timestamps';
import { until } from '@tocsin/embedded/testing/until';
import { newMonitor, recordCheck } from '../testing/monitors.ts';
import { newSignedInUser } from '../testing/sign-in.ts';
import { type Received, StreamReader } from '../testing/stream-reader.ts';
import { useTestApi } from '../testing/test-api.ts';
import { readRecords } from './replay.ts';

const readers: StreamReader[] = [];
// Pages are small, so that a burst needs several of them.
const api = await useTestApi({ streamLimits: { heartbeatMs: 50, pageRecords: 2, replayRecords: 1_000 } });
const user = await newSignedInUser(api);
afterEach(() => Promise.all(readers.splice(0).map((reader) => reader.close())));

async function open(position?: string): Promise<StreamReader> {
  const reader = await StreamReader.open(api, { cookie: user.cookie, position });
  readers.push(reader);
  return reader;
}

/** Reconnections of a client, and results of a monitor in between. */
const [TURNS, ROUNDS] = [6, 4];

const recordsOf = ({ received }: StreamReader): Received[] =>
  received.filter(({ event }) => event !== 'digest');
const idsOf = (reader: StreamReader): unknown[] => recordsOf(reader).map(({ data }) => data['id']);
const kindsOf = (reader: StreamReader): string[] => reader.received.map(({ event }) => event);

/** The ids of all events and status changes. */
async function allIds(): Promise<Set<unknown>> {
  const { rows } = await api.database.pool.query<{ id: string }>(
    'select id from events union all select id from status_changes',
  );
  return new Set(rows.map(({ id }) => id));
}

/** The time of a monitor's last result, or now by Postgres' clock, plus this many milliseconds. */
async function timeOf(monitorId: string | null, laterMs: number = 0): Promise<string> {
  const { rows } = await api.database.pool.query<{ at: Date }>(
    'select coalesce((select last_timestamp from monitors where id = $1), clock_timestamp()) as at',
    [monitorId],
  );
  return new Date((rows[0]?.at.getTime() ?? NaN) + laterMs).toISOString();
}

/** Moves all records of a monitor back in time, including its clock. */
async function age(monitorId: string, seconds: number): Promise<void> {
  for (const [table, key, stamp] of [
    ['events', 'monitor_id', 'timestamp'],
    ['status_changes', 'monitor_id', 'timestamp'],
    ['monitors', 'id', 'last_timestamp'],
  ] as const) {
    const sql = `update ${table} set ${stamp} = ${stamp} - $2 * interval '1 second' where ${key} = $1`;
    await api.database.pool.query(sql, [monitorId, seconds]);
  }
}

test('a client that reconnects loses nothing, however often it disconnects while results arrive', async () => {
  const monitors = await Promise.all([1, 2, 3].map(() => newMonitor(api)));
  let turn = 0;
  /** Some results in each round, while the reader reconnects. */
  async function write(id: string): Promise<void> {
    for (let round = 0; round < TURNS * ROUNDS; round += 1) {
      await until('the turn of this result', () => round < (turn + 1) * ROUNDS);
      await recordCheck(api, id, round % 4 === 3);
    }
  }
  const mine = [await open()];
  const writers = Promise.all(monitors.map(({ id }) => write(id)));
  // Each stream disconnects after a few more messages than the previous one, and the first before any message.
  for (; turn < TURNS; turn += 1) {
    const last = mine.at(-1);
    await until(
      'enough messages of this turn',
      () => last && last.lastEventId !== '' && last.received.length >= turn,
    );
    await last?.close();
    mine.push(await open(last?.lastEventId));
  }
  await writers;
  const expected = await allIds();
  expect(expected.size).toBeGreaterThan(monitors.length * TURNS * ROUNDS);
  await until('everything has come', () => new Set(mine.flatMap(idsOf)).size >= expected.size);
  expect(new Set(mine.flatMap(idsOf))).toEqual(expected);
  for (const reader of mine) {
    expect(kindsOf(reader)).not.toContain('reset');
    expect(new Set(idsOf(reader)).size).toBe(recordsOf(reader).length);
    for (const { id } of monitors) {
      const ofMonitor = reader.received.filter(({ data }) => data['monitorId'] === id);
      const timestamps = ofMonitor.map(({ data }) => String(data['timestamp']));
      expect(timestamps).toEqual(timestamps.toSorted());
    }
  }
});

describe('a replay', () => {
  test('of four minutes ago begins ten seconds before the position', async () => {
    const [early, late] = [await newMonitor(api), await newMonitor(api)];
    const [tooEarly, known] = [await recordCheck(api, early.id), await recordCheck(api, late.id)];
    await age(early.id, 280);
    await age(late.id, 245);
    const reader = await open(await timeOf(late.id, 5_000));
    const live = await recordCheck(api, late.id);
    await reader.sees(known);
    await reader.sees(live);
    expect(idsOf(reader)).not.toContain(tooEarly);
    expect(kindsOf(reader)).not.toContain('reset');
  });

  test.each([
    ['more than five minutes ago', -310_000],
    ['in the future', 3_600_000],
  ])('of a position %s is a reset, and the stream continues', async (_, shiftMs) => {
    const monitor = await newMonitor(api);
    const aMinuteAgo = await timeOf(null, -60_000);
    const reader = await open(await timeOf(null, shiftMs));
    await until('something comes', () => reader.received.length > 0);
    expect(reader.received[0]).toMatchObject({ event: 'reset', data: {} });
    expect(reader.lastEventId > aMinuteAgo).toBe(true);
    expect(reader.lastEventId < (await timeOf(null, 60_000))).toBe(true);
    await reader.sees(await recordCheck(api, monitor.id));
    expect(kindsOf(reader).filter((kind) => kind === 'reset')).toHaveLength(1);
  });

  test('of too many records is a reset', async () => {
    const monitor = await newMonitor(api);
    const before = await timeOf(null);
    await api.database.pool.query(
      `with stamped as (
         update monitors set last_timestamp = clock_timestamp() + interval '1001 milliseconds' where id = $1)
       insert into events (monitor_id, timestamp, id, status, latency_ms, region, source)
       select $1, date_trunc('milliseconds', clock_timestamp()) + n * interval '1 millisecond', gen_random_uuid(), 'UP', 1,
         'default', 'schedule'
       from generate_series(1, 1001) as n`,
      [monitor.id],
    );
    const reader = await open(before);
    await until('something comes', () => reader.received.length > 0);
    expect(kindsOf(reader)[0]).toBe('reset');
  });
});

test('an event and the silent status change with its timestamp are never split', async () => {
  await api.database.pool.query('delete from monitors');
  for (let index = 0; index < 3; index += 1) await recordCheck(api, (await newMonitor(api)).id);
  const { db } = api.context;
  const { timestamps } = await listMonitorTimestamps(db, api.account.id, null);
  const ranges = Array.from(timestamps, ([monitorId, upTo]) => ({ monitorId, after: null, upTo }));
  const read = async (limit: number): Promise<[string[], boolean]> => {
    const { records, complete } = await readRecords(db, api.account.id, ranges, limit);
    return [records.map(({ kind, record }) => `${kind} ${record.monitorId}`), complete];
  };
  const [all, complete] = await read(6);
  const ids = [...timestamps]
    .toSorted(([id, one], [otherId, other]) => one - other || (id < otherId ? -1 : 1))
    .map(([id]) => id);
  expect(complete).toBe(true);
  expect(all).toEqual(ids.flatMap((id) => [`check ${id}`, `status-change ${id}`]));
  expect(await read(5)).toEqual([all.slice(0, 4), false]);
  expect(await read(4)).toEqual([all.slice(0, 4), false]);
  expect(await read(3)).toEqual([all.slice(0, 2), false]);
});
