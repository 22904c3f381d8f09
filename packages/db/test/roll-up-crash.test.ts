import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { readRollupState, rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { until } from '@tocsin/embedded/testing/until';
import { sql } from 'drizzle-orm';
import { Client } from 'pg';
import { openTestContext, type TestContext, untilWaiting } from './harness.ts';
import { HOUR_MS, monitorWithSpans, rollupsBefore, setWatermark } from './rollup-data.ts';

const BARRIER = 4_711;

let context: TestContext;
/** Holds the barrier: a roll-up stops there after its first monitors are written. */
let holder: Client;
let start: number;
let end: number;
let ids: string[];

beforeAll(async () => {
  context = await openTestContext();
  holder = new Client({ connectionString: context.url });
  await holder.connect();
  await context.db.execute(
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
afterAll(async () => {
  await holder.end();
  await context.close();
});
beforeEach(async () => {
  start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 4 * HOUR_MS;
  end = start + 3 * HOUR_MS;
  await context.db.execute(sql`delete from monitors`);
  await context.db.execute(sql`delete from check_rollups`);
  await setWatermark(context, start);
  const made = await Promise.all(
    [1, 2, 3].map(() => monitorWithSpans(context, [{ region: 'a', interval: 60, from: start, to: null }])),
  );
  ids = made.map(([span]) => span?.monitorId ?? '').toSorted();
  await holder.query('select pg_advisory_lock($1)', [BARRIER]);
});

const release = (): Promise<unknown> => holder.query('select pg_advisory_unlock_all()');

/** The session that waits at the barrier. */
async function waiter(): Promise<number> {
  return until('a roll-up at the barrier', async () => {
    const { rows } = await context.db.execute<{ pid: number }>(
      sql`select pid from pg_locks where locktype = 'advisory' and objid = ${BARRIER} and not granted`,
    );
    return rows[0]?.pid;
  });
}

/** Ends a session, and waits until it has released its locks. */
async function endSession(pid: number): Promise<void> {
  await context.db.execute(sql`select pg_terminate_backend(${pid})`);
  await until('the session to be gone', async () => {
    return (await context.db.execute(sql`select from pg_stat_activity where pid = ${pid}`)).rowCount === 0;
  });
}

describe('a roll-up in the middle of an hour', () => {
  test('commits each slice, and the next one completes the hour after a crash', async () => {
    const rolling = rollUpNextHour(context.db, { monitorsAtOnce: 1 });
    const failed = expect(rolling).rejects.toThrow();
    const pid = await waiter();
    const written = await rollupsBefore(context, end);
    expect(written.map(({ monitorId }) => monitorId)).toEqual(ids.slice(0, 2));
    await endSession(pid);
    await failed;
    expect(await rollupsBefore(context, end)).toEqual(written);
    expect((await readRollupState(context.db))?.rolledUntil).toEqual(new Date(start));
    await release();
    const rolled = await rollUpNextHour(context.db, { monitorsAtOnce: 1 });
    expect(rolled).toEqual({ hour: new Date(start), gaps: { a: 180 } });
    expect(await readRollupState(context.db)).toMatchObject({ lastGaps: { a: 180 } });
    const complete = await rollupsBefore(context, end);
    expect(complete.slice(0, 2)).toEqual(written);
    expect(complete).toMatchObject(ids.map((monitorId) => ({ monitorId, gaps: 60 })));
  });

  test('stops after a slice when it is aborted, and leaves the hour to the next call', async () => {
    const controller = new AbortController();
    const rolling = rollUpNextHour(context.db, { monitorsAtOnce: 1, signal: controller.signal });
    await waiter();
    controller.abort();
    await release();
    expect(await rolling).toBeNull();
    expect((await readRollupState(context.db))?.rolledUntil).toEqual(new Date(start));
  });

  test('by two leaders at once counts each hour once', async () => {
    const one = rollUpNextHour(context.db, { monitorsAtOnce: 1 });
    await waiter();
    const other = rollUpNextHour(context.db, { monitorsAtOnce: 1 });
    await untilWaiting(context, 2);
    await release();
    const rolled = (await Promise.all([one, other])).filter((hour) => hour !== null);
    expect(rolled).toEqual([{ hour: new Date(start), gaps: { a: 180 } }]);
    expect(await rollupsBefore(context, end)).toMatchObject(
      ids.map((monitorId) => ({ monitorId, gaps: 60 })),
    );
    expect((await readRollupState(context.db))?.rolledUntil).toEqual(new Date(start + HOUR_MS));
  });

  test('locks no monitor', async () => {
    await context.db.execute(
      sql.raw(`
        create function wait_at_end() returns trigger language plpgsql as $$ begin
          perform pg_advisory_xact_lock_shared(${BARRIER});
          return new;
        end $$;
        create trigger barrier before update on check_rollup_state for each row execute function wait_at_end()`),
    );
    // Two monitors: the roll-up does not stop while it writes.
    await context.db.execute(sql`delete from monitors where id = ${ids[2]}`);
    const rolling = rollUpNextHour(context.db);
    await waiter();
    const { rows } = await context.db.execute(
      sql`select id from monitors order by id for update skip locked`,
    );
    await release();
    await rolling;
    await context.db.execute(sql`drop trigger barrier on check_rollup_state`);
    expect(rows).toEqual(ids.slice(0, 2).map((id) => ({ id })));
  });

  test('does not delay a deletion, and leaves no rollups of the deleted monitor', async () => {
    const rolling = rollUpNextHour(context.db, { monitorsAtOnce: 1 });
    await waiter();
    // The slice of the last monitor has begun, and cannot see that the monitor is deleted.
    await deleteMonitor(context.db, systemActor(context.accountId), ids[0] ?? '');
    await deleteMonitor(context.db, systemActor(context.accountId), ids[2] ?? '');
    const purged = purgeDeletedMonitors(context.db);
    await untilWaiting(context, 2);
    await release();
    expect((await rolling)?.hour).toEqual(new Date(start));
    await purged;
    expect((await rollupsBefore(context, end)).map(({ monitorId }) => monitorId)).toEqual([ids[1]]);
  });
});
