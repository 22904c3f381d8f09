import { beforeEach, describe, expect, test } from '@jest/globals';
import { readCounts } from '@tocsin/db/check-rollups/count-checks';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { listPartitions, TableInUseError } from '@tocsin/db/database/partitions';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { countPackable, holdPartitions, packEvents } from '@tocsin/db/events/pack-events';
import { dropExpiredEventPartitions, ensureEventPartitions } from '@tocsin/db/events/partitions';
import { findEvent, listEvents, listRecentChecks, tailEvents } from '@tocsin/db/events/read-events';
import { tailAccount } from '@tocsin/db/events/tail-account';
import { sampleChecks } from '@tocsin/db/incidents/sample-checks';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { sql } from 'drizzle-orm';
import * as fc from 'fast-check';
import {
  checkOf,
  makeMonitor,
  readClock,
  type TestContext,
  untilWaiting,
  useTestContext,
} from './harness.ts';
import { checksOf, DAY_MS, type EventFields, HOUR_MS, insertRows, NUMBERS, TEXTS } from './packing-data.ts';
import { setWatermark } from './rollup-data.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

let now: number;
/** Start of the packed day, which ended a day ago. */
let day: number;
beforeEach(async () => {
  await db.execute(sql`delete from monitors`);
  await purgeDeletedMonitors(db);
  now = await readClock(context);
  day = Math.floor(now / DAY_MS) * DAY_MS - 2 * DAY_MS;
  for (const table of ['events', 'event_blocks'] as const) await dropPartitions(table);
  await db.execute(sql`drop table if exists ${sql.identifier(`${packedName()}_pending`)}`);
  await ensureEventPartitions(db, { now: day + DAY_MS });
  await setWatermark(context, day + DAY_MS + HOUR_MS);
});

async function dropPartitions(table: 'events' | 'event_blocks'): Promise<void> {
  for (const name of await listPartitions(db, table))
    await db.execute(sql`drop table ${sql.identifier(name)}`);
}

const suffixOf = (time: number): string => new Date(time).toISOString().slice(0, 10).replaceAll('-', '_');
const rawNameOf = (time: number): string => `events_${suffixOf(time)}`;
const rawName = (): string => rawNameOf(day);
const packedName = (): string => `event_blocks_${suffixOf(day)}`;
const insert = (rows: readonly EventFields[]): Promise<void> => insertRows(context, rows);

/** Reads all rows of a table of events as text. */
async function rowsOf(table: 'events' | 'packed_events'): Promise<unknown[]> {
  const { rows } = await db.execute(sql`
    select monitor_id, timestamp::timestamptz(3)::text, id, status, latency_ms, status_code, error_reason, error_detail, inconclusive,
      sealed_response, region, source, slot::timestamptz(3)::text, url, dns_ms, tcp_ms, tls_ms, first_byte_ms, download_ms
    from ${sql.identifier(table)} order by 1, 2`);
  return rows;
}

/** Makes a passing check for each minute from this hour of the day on. */
function checks(monitorId: string, hour: number, count: number): EventFields[] {
  return checksOf({ monitorId, start: day + hour * HOUR_MS, count });
}

const pack = (options = {}): Promise<string[]> => packEvents(db, { now, ...options });

/** Makes a monitor with a check for each minute from 1 o'clock on. */
async function monitorWithChecks(count = 100): Promise<string> {
  const { id } = await makeMonitor(context);
  await insert(checks(id, 1, count));
  return id;
}

/** Wraps the database to run `work` after this many transactions. */
function runAfter(count: number, work: () => unknown): TestContext['db'] {
  let done = 0;
  const transaction: TestContext['db']['transaction'] = async (run, config) => {
    const result = await db.transaction(run, config);
    done += 1;
    if (done === count) await work();
    return result;
  };
  return Object.assign(Object.create(db) as TestContext['db'], { transaction });
}

/** Packs until it is interrupted after the first slice. */
async function packOneSlice(options = {}): Promise<string[]> {
  const shutdown = new AbortController();
  const interrupted = runAfter(1, () => shutdown.abort());
  return packEvents(interrupted, { now, signal: shutdown.signal, ...options });
}

test('packing loses nothing of any event', async () => {
  const { id: one } = await makeMonitor(context);
  const { id: other } = await makeMonitor(context);
  const integer = fc.option(fc.integer({ min: -2_147_483_648, max: 2_147_483_647 }));
  const text = fc.option(fc.string({ unit: 'grapheme', maxLength: 300 }).map((s) => s.replaceAll('\0', '')));
  const row = fc.record({
    ...Object.fromEntries(NUMBERS.map((name) => [name, integer])),
    ...Object.fromEntries(TEXTS.map((name) => [name, text])),
    monitorId: fc.constantFrom(one, other),
    offset: fc.integer({ min: 0, max: DAY_MS - 1 }),
    status: fc.constantFrom('UP', 'DOWN'),
    latency_ms: fc.integer({ min: 0, max: 2_147_483_647 }),
    region: fc.constantFrom('eu', 'us', 'ap-1'),
    source: fc.constantFrom('schedule', 'trigger'),
    inconclusive: fc.boolean(),
    id: fc.option(fc.uuid()),
    slot: fc.option(
      fc.oneof(fc.integer({ min: -900_000, max: 900_000 }), fc.integer({ min: -1e12, max: 1e12 })),
    ),
  });
  const rows = fc.uniqueArray(row, {
    maxLength: 400,
    size: 'max',
    selector: (r) => `${r.monitorId} ${r.offset}`,
  });
  await fc.assert(
    fc.asyncProperty(rows, async (generated) => {
      await db.execute(sql`drop table if exists ${sql.identifier(packedName())}`);
      await ensureEventPartitions(db, { now: day + DAY_MS });
      await insert(
        generated.map(({ offset, slot, ...fields }) => ({
          ...fields,
          timestamp: day + offset,
          slot: slot === null ? null : day + offset + slot,
        })),
      );
      const before = await rowsOf('events');
      expect(await pack()).toEqual([rawName()]);
      expect(await rowsOf('events')).toEqual([]);
      expect(await rowsOf('packed_events')).toEqual(before);
    }),
    { numRuns: 3 },
  );
});

/** Returns what every reader finds of a monitor. */
async function readAll(monitorId: string): Promise<unknown> {
  const at = (hours: number): number => day + hours * HOUR_MS;
  const events = await listEvents(db, accountId, monitorId, { limit: 500, since: new Date(at(0)) });
  const latest = await listEvents(db, accountId, monitorId, { limit: 300 });
  expect(latest).toHaveLength(Math.min(300, events.length));
  const middle = new Date(events[Math.floor(events.length / 2)]?.timestamp ?? 0);
  const cursor = (time: number): string => Buffer.from(`${time} `).toString('base64url');
  const period = { monitorId, openedAt: at(3), endsAt: at(4), isResolved: true };
  return {
    events,
    since: await listEvents(db, accountId, monitorId, { limit: 50, since: middle }),
    latest,
    one: await findEvent(db, accountId, monitorId, middle),
    none: await findEvent(db, accountId, monitorId, new Date(middle.getTime() + 1)),
    recent: await listRecentChecks(db, accountId, [monitorId]),
    tail: await tailEvents(db, accountId, [{ monitorId, after: at(3), upTo: at(6) }], 100),
    ever: await tailEvents(db, accountId, [{ monitorId, after: null, upTo: now }], 500),
    account: (await tailAccount(db, accountId, { since: cursor(at(2)), limit: 60 })).events,
    samples: await sampleChecks(db, period),
    minutes: await db.transaction((tx) =>
      readCounts(tx, { monitorId, from: at(2), to: at(5), bucketMs: 60_000, rolledUntil: at(24), now }),
    ),
  };
}

describe('readers find the same in packed events as before', () => {
  test('of several blocks, next to events that are not packed', async () => {
    const { id } = await makeMonitor(context);
    await insert([...checks(id, 2, 900), ...checks(id, 24, 300)]);
    const before = await readAll(id);
    await pack();
    expect((await rowsOf('events')).length).toBe(300);
    expect(await readAll(id)).toEqual(before);
  });

  test('where raw events are older than packed ones', async () => {
    const { id } = await makeMonitor(context);
    await insert(checks(id, 6, 400));
    await pack();
    await ensureEventPartitions(db, { now: day + DAY_MS });
    await insert(checks(id, 2, 100));
    const before = await readAll(id);
    expect(await pack()).toEqual([rawName()]);
    expect(await rowsOf('events')).toEqual([]);
    expect((await rowsOf('packed_events')).length).toBe(500);
    expect(await readAll(id)).toEqual(before);
  });
});

describe('a partition', () => {
  test('is packed only after it has been closed for as long as it is long, and is rolled up', async () => {
    expect(await packEvents(db, { now: day + 2 * DAY_MS - 1 })).toEqual([]);
    await setWatermark(context, day + DAY_MS + HOUR_MS / 4 - 1);
    expect(await pack()).toEqual([]);
    await setWatermark(context, day + DAY_MS + HOUR_MS / 4);
    expect(await pack()).toEqual([rawName()]);
    expect([...(await listPartitions(db, 'event_blocks'))]).toEqual([packedName()]);
    expect(await pack()).toEqual([]);
  });

  test('is continued after an interruption, without a repeated event', async () => {
    const ids = await Promise.all([1, 2, 3].map(() => monitorWithChecks()));
    const before = await rowsOf('events');
    expect(await packOneSlice({ maxBatchSize: 1 })).toEqual([]);
    expect(await rowsOf('events')).toEqual(before);
    expect(await rowsOf('packed_events')).toEqual([]);
    const { rows } = await db.execute(
      sql`select distinct monitor_id from ${sql.identifier(`${packedName()}_pending`)}`,
    );
    expect(rows).toEqual([{ monitor_id: ids.toSorted()[0] }]);
    expect(await pack()).toEqual([rawName()]);
    expect(await rowsOf('packed_events')).toEqual(before);
  });

  test.each([
    ['replaces it', 0],
    ['finds new events in it, so that it must be packed again', 5],
  ])('is packed once, even if another process %s after the last slice', async (_what, added) => {
    const id = await monitorWithChecks();
    let before = await rowsOf('events');
    let replaced: string[] = [];
    // The first slice has the monitor, and the second one finds none.
    const overtaken = runAfter(2, async () => {
      await insert(checks(id, 8, added));
      before = await rowsOf('events');
      replaced = await pack();
    });
    expect(await packEvents(overtaken, { now })).toEqual([]);
    expect(replaced).toEqual(added === 0 ? [rawName()] : []);
    if (added > 0) expect(await pack()).toEqual([rawName()]);
    expect(await rowsOf('packed_events')).toEqual(before);
  });

  test('is dropped after the retention, with a table that an interrupted run has left', async () => {
    await monitorWithChecks(10);
    await pack();
    await ensureEventPartitions(db, { now: day + DAY_MS });
    await packOneSlice();
    const age = (now - day - DAY_MS) / DAY_MS;
    expect(await dropExpiredEventPartitions(db, age + 0.001, now)).toEqual([]);
    expect(await dropExpiredEventPartitions(db, age, now)).toEqual([rawName(), packedName()]);
    await pack();
    const { rows } = await db.execute(
      sql`select relname from pg_class where relname ~ '_pending$' and relkind = 'r'`,
    );
    expect(rows).toEqual([]);
  });
});

describe('of a monitor that is deleted', () => {
  const isGone = async (id: string): Promise<boolean> => {
    const { rows } = await db.execute<{ count: number }>(sql`
      select (select count(*) from events where monitor_id = ${id})::int
        + (select count(*) from event_blocks where monitor_id = ${id})::int as count`);
    return rows[0]?.count === 0;
  };

  test('nothing is left if it is deleted before or after its partition is replaced', async () => {
    const [id, kept] = [await monitorWithChecks(), await monitorWithChecks()];
    await packOneSlice();
    await deleteMonitor(db, actor, id);
    await purgeDeletedMonitors(db);
    expect(await pack()).toEqual([rawName()]);
    expect([await isGone(id), await isGone(kept)]).toEqual([true, false]);
    await deleteMonitor(db, actor, kept);
    expect(await purgeDeletedMonitors(db, undefined, 1)).toBe(1);
    expect(await isGone(kept)).toBe(true);
  });

  test('nothing is left if it is deleted while its partition is replaced', async () => {
    const id = await monitorWithChecks();
    let purged: Promise<number> | undefined;
    const replacing = beforeCommitOf(3, async () => {
      await deleteMonitor(db, actor, id);
      purged = purgeDeletedMonitors(db);
      await untilWaiting(context, 1);
    });
    expect(await packEvents(replacing, { now })).toEqual([rawName()]);
    expect(await purged).toBe(1);
    expect(await isGone(id)).toBe(true);
  });
});

test('short partitions are created and packed like days', async () => {
  await dropPartitions('events');
  const hour = day + 12 * HOUR_MS;
  await ensureEventPartitions(db, { minutes: 5, now: hour });
  expect((await listPartitions(db, 'events')).size).toBe(38);
  const { id } = await makeMonitor(context);
  await insert(checks(id, 12, 12));
  const before = await readAll(id);
  const packed = await packEvents(db, { now: hour + 15 * 60_000 });
  expect(packed).toEqual([`${rawName()}_1205`, `${rawName()}_1200`, `${rawName()}_1155`]);
  expect((await rowsOf('events')).length).toBe(2);
  expect(await readAll(id)).toEqual(before);
});

/** Wraps the database so that `act` runs before the commit of one transaction. */
function beforeCommitOf(number: number, act: () => Promise<void>): TestContext['db'] {
  let begun = 0;
  const transaction: TestContext['db']['transaction'] = (work, config) => {
    begun += 1;
    const isIt = begun === number;
    return db.transaction(async (tx) => {
      const result = await work(tx);
      if (isIt) await act();
      return result;
    }, config);
  };
  return Object.assign(Object.create(db) as TestContext['db'], { transaction });
}

describe('a partition is not replaced', () => {
  test('while a transaction reads from one snapshot', async () => {
    await monitorWithChecks();
    await db.transaction(async (tx) => {
      await holdPartitions(tx);
      await expect(pack()).rejects.toMatchObject({ errors: [{ cause: expect.any(TableInUseError) }] });
    });
    expect(await pack()).toEqual([rawName()]);
  });

  test('while autovacuum uses it, and results are recorded in the meantime', async () => {
    const id = await monitorWithChecks();
    let packing: Promise<string[]> | undefined;
    await db.transaction(async (tx) => {
      await tx.execute(sql`lock table only ${sql.identifier(rawName())} in share update exclusive mode`);
      packing = pack();
      await untilWaiting(context, 1);
      await insert(checksOf({ monitorId: id, start: day + DAY_MS, count: 1 }));
    });
    expect(await packing).toEqual([rawName()]);
  });

  test('if an event was added while the clock was set back, even though the monitor has later ones', async () => {
    const id = await monitorWithChecks();
    await packOneSlice();
    await insert(checksOf({ monitorId: id, start: day + 12 * HOUR_MS, count: 1 }));
    await insert(checksOf({ monitorId: id, start: day + DAY_MS, count: 1 }));
    const before = await rowsOf('events');
    expect(await pack()).toEqual([]);
    expect(await pack()).toEqual([rawName()]);
    expect([...(await rowsOf('packed_events')), ...(await rowsOf('events'))]).toEqual(before);
  });
});

test('a partition that cannot be packed does not stop the others', async () => {
  const later = day + DAY_MS;
  await setWatermark(context, later + DAY_MS + HOUR_MS);
  const id = await monitorWithChecks();
  await insert(checksOf({ monitorId: id, start: later, count: 10 }));
  await db.execute(sql`create view dependent as select * from ${sql.identifier(rawNameOf(later))}`);
  await expect(packEvents(db, { now: now + DAY_MS })).rejects.toMatchObject({
    errors: [{ message: `Could not pack ${rawNameOf(later)}` }],
  });
  expect([...(await listPartitions(db, 'event_blocks'))]).toEqual([packedName()]);
  await db.execute(sql`drop view dependent`);
  expect(await packEvents(db, { now: now + DAY_MS })).toEqual([rawNameOf(later)]);
});

test('a partition whose monitors have too many events for one slice is packed monitor by monitor', async () => {
  await monitorWithChecks();
  await monitorWithChecks();
  const before = await rowsOf('events');
  let slices = 0;
  const transaction: TestContext['db']['transaction'] = (work, config) => {
    slices += 1;
    return db.transaction(async (tx) => {
      if (slices === 1) {
        await tx.execute(sql`set local statement_timeout = '1ms'`);
        await tx.execute(sql`select pg_sleep(10)`);
      }
      return work(tx);
    }, config);
  };
  const slow = Object.assign(Object.create(db) as TestContext['db'], { transaction });
  expect(await packEvents(slow, { now })).toEqual([rawName()]);
  // The slices are the failed one, two monitors, the end, and the replacement.
  expect(slices).toBe(5);
  expect(await rowsOf('packed_events')).toEqual(before);
});

test('a table that an earlier version began is created again if its columns differ', async () => {
  await monitorWithChecks();
  const before = await rowsOf('events');
  await packOneSlice();
  await db.execute(sql`alter table ${sql.identifier(`${packedName()}_pending`)} drop column url`);
  expect(await pack()).toEqual([rawName()]);
  expect(await rowsOf('packed_events')).toEqual(before);
});

describe('after the partition length changes', () => {
  test.each([
    ['a longer one', 60, 1440],
    ['a shorter one', 1440, 60],
  ])('to %s, packed events stay, and empty partitions stop nothing', async (_what, earlier, later) => {
    await dropPartitions('events');
    await ensureEventPartitions(db, { minutes: earlier, now: day + HOUR_MS });
    await monitorWithChecks(120);
    const before = await rowsOf('events');
    await packEvents(db, { now });
    expect(await rowsOf('packed_events')).toEqual(before);
    await ensureEventPartitions(db, { minutes: later, now: day + HOUR_MS });
    expect((await listPartitions(db, 'events')).size).toBeGreaterThan(0);
    await packEvents(db, { now });
    expect(await rowsOf('packed_events')).toEqual(before);
    expect(await countPackable(db)).toBe(0);
  });
});

test('the result of a removed region is not recorded again after its event was packed', async () => {
  const { id } = await makeMonitor(context, { regions: ['us'] });
  const [event] = checksOf({ monitorId: id, start: day + HOUR_MS, count: 1 });
  await insert(event ? [event] : []);
  expect(await pack()).toEqual([rawName()]);
  const [outcome] = await recordChecks(db, [checkOf(id, { region: 'eu', slot: day + HOUR_MS })]);
  expect(outcome?.kind).toBe('duplicate');
});
