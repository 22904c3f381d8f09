import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { readCounts } from '@tocsin/db/check-rollups/count-checks';
import { listPartitions } from '@tocsin/db/database/partitions';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { packEvents } from '@tocsin/db/events/pack-events';
import { dropExpiredEventPartitions, ensureEventPartitions } from '@tocsin/db/events/partitions';
import { findEvent, listEvents, listRecentChecks, tailEvents } from '@tocsin/db/events/read-events';
import { tailAccount } from '@tocsin/db/events/tail-account';
import { sampleChecks } from '@tocsin/db/incidents/sample-checks';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { sql } from 'drizzle-orm';
import * as fc from 'fast-check';
import { makeMonitor, openTestContext, type TestContext, untilWaiting } from './harness.ts';
import {
  abortAfter,
  checksOf,
  DAY_MS,
  type EventFields,
  HOUR_MS,
  insertRows,
  NUMBERS,
  packedNameOf,
  rawNameOf,
  readRows,
  resetPartitions,
  runAfter,
  TEXTS,
} from './packing-data.ts';
import { setWatermark } from './rollup-data.ts';

let context: TestContext;
let now: number;
/** The start of the day that is packed: it ended a day ago. */
let day: number;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

beforeEach(async () => {
  ({ now, day } = await resetPartitions(context));
});

const rawName = (): string => rawNameOf(day);
const packedName = (): string => packedNameOf(day);
const insert = (rows: readonly EventFields[]): Promise<void> => insertRows(context, rows);
const rowsOf = (table: 'events' | 'packed_events'): Promise<unknown[]> => readRows(context, table);
const interruptAfter = (count: number, controller: AbortController): TestContext['db'] =>
  abortAfter(context, count, controller);
/** A passing check of each minute from an hour of the day on. */
function checks(monitorId: string, hour: number, count: number): EventFields[] {
  return checksOf({ monitorId, start: day + hour * HOUR_MS, count });
}

const pack = (options = {}): Promise<string[]> => packEvents(context.db, { now, ...options });

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
    maxLength: 700,
    size: 'max',
    selector: (r) => `${r.monitorId} ${r.offset}`,
  });
  await fc.assert(
    fc.asyncProperty(rows, async (generated) => {
      await context.db.execute(sql`drop table if exists ${sql.identifier(packedName())}`);
      await ensureEventPartitions(context.db, { now: day + DAY_MS });
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
    { numRuns: 10 },
  );
});

test('ids of new events are version 7 UUIDs, whatever the id of their monitor', async () => {
  const { rows } = await context.db.execute<{ id: string }>(sql`
    select event_id(monitor::uuid, '2026-11-20 12:34:56.789Z') as id from unnest(array[
      '0197f000-0000-7abc-9def-0123456789ab', '00000000-0000-0000-0000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff', 'f47ac10b-58cc-4372-a567-0e02b2c3d479']) as monitor`);
  expect(rows.map(({ id }) => id)).toEqual([
    '01a1f8f3-e895-7abc-9def-0123456789ab',
    '01a1f8f3-e895-7000-8000-000000000000',
    '01a1f8f3-e895-7fff-bfff-ffffffffffff',
    '01a1f8f3-e895-7372-a567-0e02b2c3d479',
  ]);
});

/** What every reader finds of a monitor. */
async function readAll(monitorId: string): Promise<unknown> {
  const { db, accountId } = context;
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
  test.each([
    ['one block', [checks, 2, 100]],
    ['several blocks', [checks, 2, 900]],
  ] as const)('of %s', async (_what, [make, hour, count]) => {
    const { id } = await makeMonitor(context);
    await insert(make(id, hour, count));
    const before = await readAll(id);
    await pack();
    expect(await rowsOf('events')).toEqual([]);
    expect(await readAll(id)).toEqual(before);
  });

  test('next to events that are not packed', async () => {
    const { id } = await makeMonitor(context);
    await insert([...checks(id, 12, 700), ...checks(id, 24, 300)]);
    const before = await readAll(id);
    await pack();
    expect((await rowsOf('events')).length).toBe(300);
    expect(await readAll(id)).toEqual(before);
  });

  test('where raw events are older than packed ones', async () => {
    const { id } = await makeMonitor(context);
    await insert(checks(id, 6, 400));
    await pack();
    await ensureEventPartitions(context.db, { now: day + DAY_MS });
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
    const { db } = context;
    expect(await packEvents(db, { now: day + 2 * DAY_MS - 1 })).toEqual([]);
    await setWatermark(context, day + DAY_MS + HOUR_MS / 4 - 1);
    expect(await pack()).toEqual([]);
    await setWatermark(context, day + DAY_MS + HOUR_MS / 4);
    expect(await pack()).toEqual([rawName()]);
    expect([...(await listPartitions(db, 'event_blocks'))]).toEqual([packedName()]);
    expect(await pack()).toEqual([]);
  });

  test('is continued after an interruption, without a repeated event', async () => {
    const ids = (await Promise.all([1, 2, 3].map(() => makeMonitor(context)))).map(({ id }) => id);
    await insert(ids.flatMap((id) => checks(id, 1, 300)));
    const before = await rowsOf('events');
    const shutdown = new AbortController();
    const interrupting = interruptAfter(1, shutdown);
    expect(await packEvents(interrupting, { now, monitorsAtOnce: 1, signal: shutdown.signal })).toEqual([]);
    expect(await rowsOf('events')).toEqual(before);
    expect(await rowsOf('packed_events')).toEqual([]);
    const { rows } = await context.db.execute(
      sql`select distinct monitor_id from ${sql.identifier(`${packedName()}_pending`)}`,
    );
    expect(rows).toEqual([{ monitor_id: ids.toSorted()[0] }]);
    expect(await pack()).toEqual([rawName()]);
    expect(await rowsOf('packed_events')).toEqual(before);
  });

  test('is packed once by two processes at once', async () => {
    const ids = (await Promise.all([1, 2, 3].map(() => makeMonitor(context)))).map(({ id }) => id);
    await insert(ids.flatMap((id) => checks(id, 1, 300)));
    const before = await rowsOf('events');
    const packed = await Promise.all([pack({ monitorsAtOnce: 1 }), pack({ monitorsAtOnce: 1 })]);
    expect(packed.flat()).toEqual([rawName()]);
    expect(await rowsOf('packed_events')).toEqual(before);
  });

  describe('whose last slice is packed by one process', () => {
    // One slice has the monitor, and the next one finds none.
    const overtaken = (work: () => unknown): Promise<string[]> =>
      packEvents(runAfter(context, 2, work), { now });

    test('may be replaced by another', async () => {
      const { id } = await makeMonitor(context);
      await insert(checks(id, 1, 300));
      const before = await rowsOf('events');
      const replaced: string[] = [];
      expect(await overtaken(async () => replaced.push(...(await pack())))).toEqual([]);
      expect(replaced).toEqual([rawName()]);
      expect(await rowsOf('packed_events')).toEqual(before);
    });

    test('may have to be packed again, as another has found', async () => {
      const { id } = await makeMonitor(context);
      await insert(checks(id, 1, 300));
      const packed = await overtaken(async () => {
        await insert(checks(id, 8, 5));
        await pack();
      });
      expect(packed).toEqual([]);
      const before = await rowsOf('events');
      expect(before).toHaveLength(305);
      expect(await pack()).toEqual([rawName()]);
      expect(await rowsOf('packed_events')).toEqual(before);
    });
  });

  test('is packed without pauses if another one is due, too', async () => {
    const { id } = await makeMonitor(context);
    await insert(checks(id, 1, 300));
    await ensureEventPartitions(context.db, { now: day - DAY_MS });
    // Any pause would last for hours.
    expect(await pack({ share: 1e-9 })).toContain(rawName());
  });

  test('is packed again if events are added while it is packed', async () => {
    const { id } = await makeMonitor(context);
    await insert(checks(id, 1, 300));
    const shutdown = new AbortController();
    await packEvents(interruptAfter(1, shutdown), { now, signal: shutdown.signal });
    await insert(checks(id, 8, 5));
    const before = await rowsOf('events');
    expect(await pack()).toEqual([]);
    expect(await rowsOf('events')).toEqual(before);
    expect(await pack()).toEqual([rawName()]);
    expect(await rowsOf('packed_events')).toEqual(before);
  });

  test('is dropped after the retention, with a table that an interrupted run has left', async () => {
    const { id } = await makeMonitor(context);
    await insert(checks(id, 1, 10));
    await pack();
    await ensureEventPartitions(context.db, { now: day + DAY_MS });
    const shutdown = new AbortController();
    await packEvents(interruptAfter(1, shutdown), { now, signal: shutdown.signal });
    const age = (now - day - DAY_MS) / DAY_MS;
    expect(await dropExpiredEventPartitions(context.db, age + 0.001, now)).toEqual([]);
    expect(await dropExpiredEventPartitions(context.db, age, now)).toEqual([rawName(), packedName()]);
    await pack();
    const { rows } = await context.db.execute(
      sql`select relname from pg_class where relname ~ '_pending$' and relkind = 'r'`,
    );
    expect(rows).toEqual([]);
  });
});

describe('of a monitor that is deleted', () => {
  const isGone = async (id: string): Promise<boolean> => {
    const { rows } = await context.db.execute<{ count: number }>(sql`
      select (select count(*) from events where monitor_id = ${id})::int
        + (select count(*) from event_blocks where monitor_id = ${id})::int as count`);
    return rows[0]?.count === 0;
  };

  test('nothing is left after it is packed', async () => {
    const { id } = await makeMonitor(context);
    const { id: kept } = await makeMonitor(context);
    await insert([...checks(id, 1, 300), ...checks(kept, 1, 300)]);
    await pack();
    await deleteMonitor(context.db, systemActor(context.accountId), id);
    expect(await purgeDeletedMonitors(context.db, undefined, 1)).toBe(1);
    expect([await isGone(id), await isGone(kept)]).toEqual([true, false]);
  });

  test('nothing is left if it is deleted and purged before its partition is replaced', async () => {
    const { id } = await makeMonitor(context);
    const { id: kept } = await makeMonitor(context);
    await insert([...checks(id, 1, 300), ...checks(kept, 1, 300)]);
    const shutdown = new AbortController();
    await packEvents(interruptAfter(1, shutdown), { now, signal: shutdown.signal });
    await deleteMonitor(context.db, systemActor(context.accountId), id);
    await purgeDeletedMonitors(context.db);
    expect(await pack()).toEqual([rawName()]);
    expect([await isGone(id), await isGone(kept)]).toEqual([true, false]);
  });

  test('nothing is left if it is deleted while its partition is replaced', async () => {
    const { id } = await makeMonitor(context);
    await insert(checks(id, 1, 300));
    let purged: Promise<number> | undefined;
    const replacing = beforeCommitOf(3, async () => {
      await deleteMonitor(context.db, systemActor(context.accountId), id);
      purged = purgeDeletedMonitors(context.db);
      await untilWaiting(context, 1);
    });
    expect(await packEvents(replacing, { now })).toEqual([rawName()]);
    expect(await purged).toBe(1);
    expect(await isGone(id)).toBe(true);
  });
});

describe('short partitions', () => {
  test('are made and packed like days', async () => {
    const { db } = context;
    for (const name of await listPartitions(db, 'events'))
      await db.execute(sql`drop table ${sql.identifier(name)}`);
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

  test('fill what partitions of another length leave', async () => {
    const { db } = context;
    for (const name of await listPartitions(db, 'events'))
      await db.execute(sql`drop table ${sql.identifier(name)}`);
    const noon = day + 12 * HOUR_MS;
    await ensureEventPartitions(db, { minutes: 60, now: noon });
    await ensureEventPartitions(db, { now: noon });
    const names = [...(await listPartitions(db, 'events'))].toSorted();
    expect(names).toEqual(
      expect.arrayContaining([
        `${rawName()}_0000`,
        `${rawName()}_1100`,
        `${rawName()}_1900`,
        `${rawName()}_2000`,
      ]),
    );
    const before = names.length;
    await ensureEventPartitions(db, { minutes: 5, now: noon });
    expect((await listPartitions(db, 'events')).size).toBe(before);
  });
});

/** The database, with something to do at the end of one of its transactions. */
function beforeCommitOf(number: number, act: () => Promise<void>): TestContext['db'] {
  let begun = 0;
  const transaction: TestContext['db']['transaction'] = (work, config) => {
    begun += 1;
    const isIt = begun === number;
    return context.db.transaction(async (tx) => {
      const result = await work(tx);
      if (isIt) await act();
      return result;
    }, config);
  };
  return Object.assign(Object.create(context.db) as TestContext['db'], { transaction });
}
