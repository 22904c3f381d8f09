import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { listPartitions, TableInUseError } from '@tocsin/db/database/partitions';
import { countPackable, holdPartitions, packEvents } from '@tocsin/db/events/pack-events';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { sql } from 'drizzle-orm';
import { checkOf, makeMonitor, openTestContext, type TestContext, untilWaiting } from './harness.ts';
import {
  abortAfter,
  checksOf,
  DAY_MS,
  type EventFields,
  HOUR_MS,
  insertRows,
  packedNameOf,
  rawNameOf,
  readRows,
  resetPartitions,
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

const pack = (): Promise<string[]> => packEvents(context.db, { now });
const pending = () => sql.identifier(`${packedNameOf(day)}_pending`);

async function packOneSlice(): Promise<void> {
  const shutdown = new AbortController();
  await packEvents(abortAfter(context, 1, shutdown), { now, signal: shutdown.signal });
}

async function monitorWithChecks(count = 100): Promise<{ id: string; events: EventFields[] }> {
  const { id } = await makeMonitor(context);
  const events = checksOf({ monitorId: id, start: day + HOUR_MS, count });
  await insertRows(context, events);
  return { id, events };
}

describe('a partition is not replaced', () => {
  test('while a transaction reads from one snapshot', async () => {
    await monitorWithChecks();
    await context.db.transaction(async (tx) => {
      await holdPartitions(tx);
      await expect(pack()).rejects.toMatchObject({ errors: [{ cause: expect.any(TableInUseError) }] });
    });
    expect(await pack()).toEqual([rawNameOf(day)]);
  });

  test('while autovacuum uses it; meanwhile results are recorded', async () => {
    const { id } = await monitorWithChecks();
    let packing: Promise<string[]> | undefined;
    await context.db.transaction(async (tx) => {
      // Autovacuum's lock.
      await tx.execute(sql`lock table only ${sql.identifier(rawNameOf(day))} in share update exclusive mode`);
      packing = pack();
      await untilWaiting(context, 1);
      await insertRows(context, checksOf({ monitorId: id, start: day + DAY_MS, count: 1 }));
    });
    expect(await packing).toEqual([rawNameOf(day)]);
  });

  test('if an event was added while the clock was set back, though the monitor has later ones since', async () => {
    const { id } = await monitorWithChecks();
    await packOneSlice();
    await insertRows(context, checksOf({ monitorId: id, start: day + 12 * HOUR_MS, count: 1 }));
    await insertRows(context, checksOf({ monitorId: id, start: day + DAY_MS, count: 1 }));
    const before = await readRows(context, 'events');
    expect(await pack()).toEqual([]);
    expect(await pack()).toEqual([rawNameOf(day)]);
    expect([...(await readRows(context, 'packed_events')), ...(await readRows(context, 'events'))]).toEqual(
      before,
    );
  });
});

test('a partition that cannot be packed does not stop the others', async () => {
  const { db } = context;
  const later = day + DAY_MS;
  await setWatermark(context, later + DAY_MS + HOUR_MS);
  const { id } = await monitorWithChecks();
  await insertRows(context, checksOf({ monitorId: id, start: later, count: 10 }));
  await db.execute(sql`create view dependent as select * from ${sql.identifier(rawNameOf(later))}`);
  await expect(packEvents(db, { now: now + DAY_MS })).rejects.toMatchObject({
    errors: [{ message: `Could not pack ${rawNameOf(later)}` }],
  });
  expect([...(await listPartitions(db, 'event_blocks'))]).toEqual([packedNameOf(day)]);
  await db.execute(sql`drop view dependent`);
  expect(await packEvents(db, { now: now + DAY_MS })).toEqual([rawNameOf(later)]);
});

test('a partition whose monitors have too many events for one slice is packed monitor by monitor', async () => {
  await monitorWithChecks();
  await monitorWithChecks();
  const before = await readRows(context, 'events');
  let slices = 0;
  const transaction: TestContext['db']['transaction'] = (work, config) => {
    slices += 1;
    return context.db.transaction(async (tx) => {
      if (slices === 1) {
        await tx.execute(sql`set local statement_timeout = '1ms'`);
        await tx.execute(sql`select pg_sleep(10)`);
      }
      return work(tx);
    }, config);
  };
  const slow = Object.assign(Object.create(context.db) as TestContext['db'], { transaction });
  expect(await packEvents(slow, { now })).toEqual([rawNameOf(day)]);
  // The failed one, two monitors, the end, and the replacement.
  expect(slices).toBe(5);
  expect(await readRows(context, 'packed_events')).toEqual(before);
});

test('a table that an earlier version began is made again if its columns differ', async () => {
  await monitorWithChecks();
  const before = await readRows(context, 'events');
  await packOneSlice();
  await context.db.execute(sql`alter table ${pending()} drop column url`);
  expect(await pack()).toEqual([rawNameOf(day)]);
  expect(await readRows(context, 'packed_events')).toEqual(before);
});

describe('after a change of the length of partitions', () => {
  test.each([
    ['a longer one', 60, 1440],
    ['a shorter one', 1440, 60],
  ])('to %s, packed events stay, and empty partitions stop nothing', async (_what, earlier, later) => {
    const { db } = context;
    for (const name of await listPartitions(db, 'events'))
      await db.execute(sql`drop table ${sql.identifier(name)}`);
    await ensureEventPartitions(db, { minutes: earlier, now: day + HOUR_MS });
    await monitorWithChecks(120);
    const before = await readRows(context, 'events');
    await packEvents(db, { now });
    expect(await readRows(context, 'packed_events')).toEqual(before);
    await ensureEventPartitions(db, { minutes: later, now: day + HOUR_MS });
    expect((await listPartitions(db, 'events')).size).toBeGreaterThan(0);
    await packEvents(db, { now });
    expect(await readRows(context, 'packed_events')).toEqual(before);
    expect(await countPackable(db)).toBe(0);
  });
});

test('the result of a removed region is not recorded again after its event was packed', async () => {
  const { id } = await makeMonitor(context, { regions: ['us'] });
  const [event] = checksOf({ monitorId: id, start: day + HOUR_MS, count: 1 });
  await insertRows(context, event ? [event] : []);
  expect(await pack()).toEqual([rawNameOf(day)]);
  const [outcome] = await recordChecks(context.db, [checkOf(id, { region: 'eu', slot: day + HOUR_MS })]);
  expect(outcome?.kind).toBe('duplicate');
});
