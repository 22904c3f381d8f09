import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { readRollupState, rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import type { Database } from '@tocsin/db/database/open';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { until } from '@tocsin/embedded/testing/until';
import { sql } from 'drizzle-orm';
import { Client } from 'pg';
import { readClock, refuseRows, untilWaiting, useTestContext } from './harness.ts';
import {
  eventAt,
  expectedRollup,
  HOUR_MS,
  insertEvents,
  monitorWithSpans,
  randomEvents,
  type RawEvent,
  rollupsBefore,
  seeded,
  setWatermark,
  slotsOf,
  type Span,
} from './rollup-data.ts';

const context = await useTestContext();
const { db, actor } = context;

/** The next three hours are settled. The fourth may be, depending on the minute. */
let start: number;
let end: number;
beforeEach(async () => {
  start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 4 * HOUR_MS;
  end = start + 3 * HOUR_MS;
  await db.execute(sql`delete from monitors`);
  await db.execute(sql`delete from events`);
  await db.execute(sql`delete from check_rollups`);
  await setWatermark(context, start);
});

async function rollUpAll(database: Database = db, maxBatchSize?: number): Promise<void> {
  for (;;) if ((await rollUpNextHour(database, { maxBatchSize })) === null) return;
}

/** Makes spans after edits, such as a new interval in mid-hour, an end exactly on a slot, and a region that was removed and added again. */
async function variousSpans(): Promise<Span[]> {
  const minutes = (count: number, ms = 0): number => start + count * 60_000 + ms;
  const before = start - 30 * HOUR_MS;
  const [edge] = await monitorWithSpans(context, [{ region: 'a', interval: 60, from: before, to: null }]);
  const onSlot = edge ? (slotsOf(edge, minutes(40), end)[0] ?? 0) : 0;
  await db.execute(sql`
    update schedule_spans set ends_at = ${new Date(onSlot).toISOString()} where monitor_id = ${edge?.monitorId ?? ''}`);
  const spans = await Promise.all([
    monitorWithSpans(context, [
      { region: 'a', interval: 60, from: before, to: minutes(80, 17_123) },
      { region: 'a', interval: 7, from: minutes(80, 17_123), to: null },
      { region: 'b', interval: 60, from: before, to: minutes(30, 1) },
      { region: 'b', interval: 60, from: minutes(105), to: minutes(180) },
    ]),
    monitorWithSpans(context, [{ region: 'a', interval: 3_600, from: before, to: null }]),
    monitorWithSpans(context, [{ region: 'default', interval: 86_400, from: before, to: null }]),
    monitorWithSpans(context, [{ region: 'a', interval: 25, from: minutes(61), to: minutes(61, 3) }]),
  ]);
  return [...(edge ? [{ ...edge, endsAt: new Date(onSlot) }] : []), ...spans.flat()];
}

function expectedRollups(spans: readonly Span[], events: readonly RawEvent[]): unknown[] {
  const kinds = new Map(spans.map((span) => [`${span.monitorId} ${span.region}`, span]));
  return [...kinds]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, kind]) =>
      [0, 1, 2].map((hour) => expectedRollup(kind, start + hour * HOUR_MS, spans, events)),
    )
    .filter((rollup) => rollup !== null);
}

describe('rolling up', () => {
  test.each([1, 2])(
    'matches the raw events, even if it is repeated in another time zone, seed %d',
    async (seed) => {
      const spans = await variousSpans();
      const events = randomEvents(spans, start - HOUR_MS, end + HOUR_MS, seeded(seed));
      await insertEvents(context, events);
      await rollUpAll(db, seed % 2 === 0 ? 2 : undefined);
      const rollups = await rollupsBefore(context, end);
      expect(rollups).toEqual(expectedRollups(spans, events));
      // Some spans have a slot in each hour, whatever their offsets.
      expect(rollups.length).toBeGreaterThanOrEqual(7);
      await setWatermark(context, start);
      await db.transaction(async (tx) => {
        await tx.execute(sql`set local time zone 'Asia/Kathmandu'`);
        await rollUpAll(tx);
      });
      expect(await rollupsBefore(context, end)).toEqual(rollups);
    },
  );

  test('rolls an hour up 16 minutes after its end', async () => {
    /** Reports whether the first hour that is not rolled up stays so. It may become due at that moment. */
    const isLeftAlone = async (hour: number): Promise<boolean> => {
      const due = hour + HOUR_MS + 16 * 60_000;
      const before = await readClock(context);
      const rolled = await rollUpNextHour(db);
      if (rolled === null) expect(before).toBeLessThan(due);
      else expect([rolled.hour.getTime(), (await readClock(context)) >= due]).toEqual([hour, true]);
      return rolled === null;
    };
    const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    await setWatermark(context, hour);
    expect(await isLeftAlone(hour)).toBe(true);
    const recent = Math.floor((Date.now() - 16 * 60_000) / HOUR_MS) * HOUR_MS - HOUR_MS;
    await setWatermark(context, recent);
    expect(await isLeftAlone(recent)).toBe(false);
    await isLeftAlone(recent + HOUR_MS);
  });

  test('returns the gaps of the last hour by region, and stores them with the watermark', async () => {
    await monitorWithSpans(context, [
      { region: 'a', interval: 60, from: start, to: start + HOUR_MS },
      { region: 'b', interval: 600, from: start, to: start + HOUR_MS },
    ]);
    await monitorWithSpans(context, [{ region: 'b', interval: 60, from: start, to: start + HOUR_MS }]);
    expect(await rollUpNextHour(db, { maxBatchSize: 1 })).toEqual({
      hour: new Date(start),
      gaps: { a: 60, b: 66 },
    });
    expect(await readRollupState(db)).toMatchObject({
      rolledUntil: new Date(start + HOUR_MS),
      lastGaps: { a: 60, b: 66 },
    });
    expect((await rollUpNextHour(db))?.gaps).toEqual({});
  });

  test('a check more than 15 minutes late is a gap', async () => {
    const [span] = await monitorWithSpans(context, [
      { region: 'default', interval: 1_800, from: start, to: start + HOUR_MS },
    ]);
    const id = span?.monitorId ?? '';
    const [first = 0, second = 0] = span ? slotsOf(span, start, end) : [];
    await insertEvents(context, [
      eventAt(id, first, { timestamp: first + 900_000 }),
      eventAt(id, second, { timestamp: second + 900_001 }),
    ]);
    await rollUpAll();
    const rollups = await rollupsBefore(context, end);
    expect(rollups.reduce((sum, { checks }) => sum + checks, 0)).toBe(2);
    expect(rollups.reduce((sum, { gaps }) => sum + gaps, 0)).toBe(1);
  });

  test('begins with the hour of the first monitor, and processes a backlog hour by hour', async () => {
    await db.execute(sql`delete from check_rollup_state`);
    const oldest = Math.floor(Date.now() / HOUR_MS - 20) * HOUR_MS;
    const at = oldest + 5;
    const [span] = await monitorWithSpans(context, [{ region: 'default', interval: 60, from: at, to: at }]);
    await insertEvents(context, [eventAt(span?.monitorId ?? '', at)]);
    const countDue = (): number => Math.floor((Date.now() - oldest - 16 * 60_000) / HOUR_MS);
    const dueAtFirst = countDue();
    let hours = 0;
    for (let rolled = await rollUpNextHour(db); rolled; rolled = await rollUpNextHour(db)) {
      expect(rolled.hour).toEqual(new Date(oldest + hours * HOUR_MS));
      hours += 1;
    }
    // Another hour may become due in the meantime.
    expect([dueAtFirst, countDue()]).toContain(hours);
    expect(await rollupsBefore(context, end)).toMatchObject([{ hour: new Date(oldest), checks: 1 }]);
  });
});

describe('a roll-up in the middle of an hour', () => {
  const BARRIER = 4_711;
  /** Holds the barrier, where a roll-up stops after its first monitors are written. */
  const holder = new Client({ connectionString: context.url });
  let ids: string[];
  beforeAll(async () => {
    await holder.connect();
    await db.execute(
      sql.raw(`
        create function wait_at_barrier() returns trigger language plpgsql as $$ begin
          if (select count(*) from check_rollups where hour = new.hour) >= 2 then
            perform pg_advisory_xact_lock_shared(${BARRIER});
          end if;
          return new;
        end $$;
        create trigger barrier before insert on check_rollups for each row execute function wait_at_barrier()`),
    );
  });
  afterAll(() => holder.end());
  beforeEach(async () => {
    const made = await Promise.all(
      [1, 2, 3].map(() => monitorWithSpans(context, [{ region: 'a', interval: 60, from: start, to: null }])),
    );
    ids = made.map(([span]) => span?.monitorId ?? '').toSorted();
    await holder.query('select pg_advisory_lock($1)', [BARRIER]);
  });

  const release = (): Promise<unknown> => holder.query('select pg_advisory_unlock_all()');

  /** Returns the session that waits at the barrier. */
  async function waiter(): Promise<number> {
    return until('a roll-up at the barrier', async () => {
      const { rows } = await db.execute<{ pid: number }>(
        sql`select pid from pg_locks where locktype = 'advisory' and objid = ${BARRIER} and not granted`,
      );
      return rows[0]?.pid;
    });
  }

  async function rolledUntil(): Promise<number | undefined> {
    return (await readRollupState(db))?.rolledUntil.getTime();
  }

  test('commits each slice, and the next one completes the hour after a crash', async () => {
    const rolling = rollUpNextHour(db, { maxBatchSize: 1 });
    const failed = expect(rolling).rejects.toThrow();
    const pid = await waiter();
    const written = await rollupsBefore(context, end);
    expect(written.map(({ monitorId }) => monitorId)).toEqual(ids.slice(0, 2));
    await db.execute(sql`select pg_terminate_backend(${pid})`);
    await until('the session to be gone', async () => {
      return (await db.execute(sql`select from pg_stat_activity where pid = ${pid}`)).rowCount === 0;
    });
    await failed;
    expect(await rollupsBefore(context, end)).toEqual(written);
    expect(await rolledUntil()).toBe(start);
    await release();
    const rolled = await rollUpNextHour(db, { maxBatchSize: 1 });
    expect(rolled).toEqual({ hour: new Date(start), gaps: { a: 180 } });
    expect(await readRollupState(db)).toMatchObject({ lastGaps: { a: 180 } });
    const complete = await rollupsBefore(context, end);
    expect(complete.slice(0, 2)).toEqual(written);
    expect(complete).toMatchObject(ids.map((monitorId) => ({ monitorId, gaps: 60 })));
  });

  test('by two leaders at once counts each hour once', async () => {
    const one = rollUpNextHour(db, { maxBatchSize: 1 });
    await waiter();
    const other = rollUpNextHour(db, { maxBatchSize: 1 });
    await untilWaiting(context, 2);
    await release();
    const rolled = (await Promise.all([one, other])).filter((hour) => hour !== null);
    expect(rolled).toEqual([{ hour: new Date(start), gaps: { a: 180 } }]);
    expect(await rollupsBefore(context, end)).toMatchObject(
      ids.map((monitorId) => ({ monitorId, gaps: 60 })),
    );
    expect(await rolledUntil()).toBe(start + HOUR_MS);
  });

  test('a monitor whose events Postgres refuses to count does not stop the others', async () => {
    await release();
    const [bad = ''] = ids;
    const accept = await refuseRows(context, 'check_rollups', `new.monitor_id = '${bad}'`);
    const refused: string[] = [];
    await rollUpNextHour(db, { onRefused: ({ id }) => refused.push(id) });
    expect(refused).toEqual([bad]);
    expect(await rollupsBefore(context, end)).toMatchObject(ids.slice(1).map((monitorId) => ({ monitorId })));
    expect(await rolledUntil()).toBe(start + HOUR_MS);
    await accept();
  });

  test('does not delay a deletion, and leaves no rollups of the deleted monitor', async () => {
    const rolling = rollUpNextHour(db, { maxBatchSize: 1 });
    await waiter();
    // The last monitor's slice has begun, and cannot see that the monitor is deleted.
    await deleteMonitor(db, actor, ids[0] ?? '');
    await deleteMonitor(db, actor, ids[2] ?? '');
    const purged = purgeDeletedMonitors(db);
    await untilWaiting(context, 2);
    await release();
    expect((await rolling)?.hour).toEqual(new Date(start));
    await purged;
    expect((await rollupsBefore(context, end)).map(({ monitorId }) => monitorId)).toEqual([ids[1]]);
  });
});
