import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { readRollupState } from '@tocsin/db/check-rollups/rollup-state';
import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up-hour';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitor';
import { sql } from 'drizzle-orm';
import { until } from '@tocsin/embedded/testing/until';
import { Client } from 'pg';
import { openTestContext, type TestContext } from './harness.ts';
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

/** Ends a session, and waits until it has given back its locks. */
async function endSession(pid: number): Promise<void> {
  await context.db.execute(sql`select pg_terminate_backend(${pid})`);
  await until('the session to be gone', async () => {
    return (await context.db.execute(sql`select from pg_stat_activity where pid = ${pid}`)).rowCount === 0;
  });
}

describe('a roll-up that is in the middle of an hour', () => {
  test('leaves nothing half when it is killed; the next one completes the hour', async () => {
    const rolling = rollUpNextHour(context.db, 1);
    const failed = expect(rolling).rejects.toThrow();
    await endSession(await waiter());
    await failed;
    expect(await rollupsBefore(context, end)).toEqual([]);
    expect((await readRollupState(context.db))?.rolledUntil).toEqual(new Date(start));
    await release();
    expect(await rollUpNextHour(context.db, 1)).toEqual({ hour: new Date(start), gaps: { a: 180 } });
    expect(await rollupsBefore(context, end)).toHaveLength(3);
  });

  test('is let alone by a second leader, and nothing is counted twice', async () => {
    const rolling = rollUpNextHour(context.db, 1);
    await waiter();
    expect(await rollUpNextHour(context.db, 1)).toBeNull();
    await release();
    expect((await rolling)?.hour).toEqual(new Date(start));
    expect(await rollupsBefore(context, end)).toMatchObject(
      ids.map((monitorId) => ({ monitorId, gaps: 60 })),
    );
    expect((await readRollupState(context.db))?.rolledUntil).toEqual(new Date(start + HOUR_MS));
  });

  test('does not hold up who deletes a monitor, and takes its rollups back', async () => {
    const rolling = rollUpNextHour(context.db, 1);
    await waiter();
    await deleteMonitor(context.db, context.accountId, ids[0] ?? '');
    await release();
    expect((await rolling)?.hour).toEqual(new Date(start));
    expect((await rollupsBefore(context, end)).map(({ monitorId }) => monitorId)).toEqual(ids.slice(1));
  });
});
