import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { newMonitor, recordCheck } from '../testing/monitors.ts';
import { newSignedInUser, type TestUser } from '../testing/sign-in.ts';
import { type Received, StreamReader } from '../testing/stream-reader.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let user: TestUser;
const readers: StreamReader[] = [];
beforeAll(async () => {
  // Small pages: a burst needs several of them.
  api = await openTestApi({ streamLimits: { heartbeatMs: 50, pageRecords: 2, replayRecords: 1_000 } });
  user = await newSignedInUser(api);
});
afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()));
});
afterAll(() => api.close());

async function open(position?: string, { cookie } = user): Promise<StreamReader> {
  const reader = await StreamReader.open(api, { cookie, position });
  readers.push(reader);
  return reader;
}

/** How often a client reconnects, and how many results of a monitor arrive in between. */
const [TURNS, ROUNDS] = [8, 6];

const recordsOf = ({ received }: StreamReader): Received[] =>
  received.filter(({ event }) => event !== 'digest');
const idsOf = (reader: StreamReader): unknown[] => recordsOf(reader).map(({ data }) => data['id']);
const kindsOf = (reader: StreamReader): string[] => reader.received.map(({ event }) => event);

/** The ids of all events and status changes of the account. */
async function allIds(accountId: string): Promise<Set<unknown>> {
  const { rows } = await api.database.pool.query<{ id: string }>(
    `select id from events where monitor_id in (select id from monitors where account_id = $1)
     union all select id from status_changes where account_id = $1`,
    [accountId],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Postgres' clock. */
async function databaseTime(shiftMs: number = 0): Promise<string> {
  const { rows } = await api.database.pool.query<{ now: Date }>('select clock_timestamp() as now');
  return new Date((rows[0]?.now.getTime() ?? NaN) + shiftMs).toISOString();
}

/** The timestamp of a monitor's last result, plus this many milliseconds. */
async function lastTimestampOf(monitorId: string, laterMs: number = 0): Promise<string> {
  const { rows } = await api.database.pool.query<{ stamp: Date }>(
    'select last_timestamp as stamp from monitors where id = $1',
    [monitorId],
  );
  return new Date((rows[0]?.stamp.getTime() ?? NaN) + laterMs).toISOString();
}

/** Moves all records of a monitor back in time, including its clock. */
async function age(monitorId: string, seconds: number): Promise<void> {
  const move = async (table: string, key: string, stamp: string): Promise<void> => {
    const sql = `update ${table} set ${stamp} = ${stamp} - $2 * interval '1 second' where ${key} = $1`;
    await api.database.pool.query(sql, [monitorId, seconds]);
  };
  await move('events', 'monitor_id', 'timestamp');
  await move('status_changes', 'monitor_id', 'timestamp');
  await move('monitors', 'id', 'last_timestamp');
}

describe('a client that reconnects', () => {
  test('loses nothing, however often it disconnects while results arrive', async () => {
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
    // Each disconnects after a few more messages than the one before; the first before any.
    for (; turn < TURNS; turn += 1) {
      const last = mine.at(-1);
      await until('enough messages of this turn', () => last && last.received.length >= turn);
      await last?.close();
      mine.push(await open(last?.lastEventId));
    }
    await writers;
    const expected = await allIds(api.account.id);
    expect(expected.size).toBeGreaterThan(monitors.length * TURNS * ROUNDS);
    await until('everything has come', () => new Set(mine.flatMap(idsOf)).size >= expected.size);
    expect(new Set(mine.flatMap(idsOf))).toEqual(expected);
    for (const reader of mine) expectOnceInOrder(reader);
  });

  test('gets the missed records in the order of their timestamps, each once, while more arrive', async () => {
    const { id } = await newMonitor(api);
    const before = await databaseTime();
    for (let round = 0; round < 20; round += 1) await recordCheck(api, id, round % 2 === 1);
    const [reader, last] = await Promise.all([open(before), recordCheck(api, id)]);
    await reader.sees(last);
    expect(kindsOf(reader)).not.toContain('reset');
    expectOnceInOrder(reader);
    const ofMonitor = reader.received.filter(({ data }) => data['monitorId'] === id);
    expect(ofMonitor.filter(({ event }) => event === 'check')).toHaveLength(21);
  });

  test('before the first message continues from there', async () => {
    const otherUser = await newSignedInUser(api, { accountId: api.other.id });
    const monitor = await newMonitor(api, {}, api.other.key);
    const quiet = await open(undefined, otherUser);
    await until('a position', () => quiet.lastEventId);
    await quiet.close();
    const missed = await recordCheck(api, monitor.id);
    await (await open(quiet.lastEventId, otherUser)).sees(missed);
  });
});

function expectOnceInOrder(reader: StreamReader): void {
  expect(kindsOf(reader)).not.toContain('reset');
  expect(new Set(idsOf(reader)).size).toBe(recordsOf(reader).length);
  for (const monitorId of new Set(recordsOf(reader).map(({ data }) => data['monitorId']))) {
    const ofMonitor = reader.received.filter(({ data }) => data['monitorId'] === monitorId);
    const timestamps = ofMonitor.map(({ data }) => String(data['timestamp']));
    expect(timestamps).toEqual(timestamps.toSorted());
  }
}

describe('a replay', () => {
  test('begins ten seconds before the position', async () => {
    const [early, late] = [await newMonitor(api), await newMonitor(api)];
    const [tooEarly, known] = [await recordCheck(api, early.id), await recordCheck(api, late.id)];
    await age(early.id, 100);
    await age(late.id, 65);
    const reader = await open(await lastTimestampOf(late.id, 5_000));
    const live = await recordCheck(api, late.id);
    await reader.sees(known);
    await reader.sees(live);
    expect(idsOf(reader)).not.toContain(tooEarly);
  });

  test.each([
    ['more than five minutes ago', -310_000],
    ['in the future', 3_600_000],
  ])('of a position %s is a reset, and the stream continues', async (_, shiftMs) => {
    const monitor = await newMonitor(api);
    const aMinuteAgo = await databaseTime(-60_000);
    const reader = await open(await databaseTime(shiftMs));
    await until('something comes', () => reader.received.length > 0);
    expect(reader.received[0]).toMatchObject({ event: 'reset', data: {} });
    expect(reader.lastEventId > aMinuteAgo).toBe(true);
    expect(reader.lastEventId < (await databaseTime(60_000))).toBe(true);
    await reader.sees(await recordCheck(api, monitor.id));
    expect(kindsOf(reader).filter((kind) => kind === 'reset')).toHaveLength(1);
  });

  test('of four minutes ago is complete', async () => {
    const monitor = await newMonitor(api);
    const id = await recordCheck(api, monitor.id);
    await age(monitor.id, 240);
    const reader = await open(await lastTimestampOf(monitor.id));
    await reader.sees(id);
    expect(kindsOf(reader)).not.toContain('reset');
  });

  test('of too many records is a reset', async () => {
    const monitor = await newMonitor(api);
    const before = await databaseTime();
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
