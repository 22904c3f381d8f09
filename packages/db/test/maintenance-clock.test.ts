import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { Database } from '@tocsin/db/database/open';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { getMaintenanceWindow } from '@tocsin/db/maintenance-windows/read-windows';
import { SETTLED_AT_ONCE, settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import {
  deleteMaintenanceWindow,
  updateMaintenanceWindow,
} from '@tocsin/db/maintenance-windows/write-windows';
import { monitors } from '@tocsin/db/monitors/table';
import { statusChanges } from '@tocsin/db/status-changes/table';
import { and, eq, inArray, sql, type SQL } from 'drizzle-orm';
import { checkOf, failureOf, makeMonitor, openTestContext, type TestContext } from './harness.ts';
import {
  begin,
  end,
  makeWatched,
  makeWindow,
  moveWindow,
  outcomesOf,
  rowOf,
  storyOf,
  tick,
} from './maintenance-harness.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

async function statusOf(id: string): Promise<string> {
  return (await rowOf(context, id)).status;
}

async function windowOf(id: string): ReturnType<typeof getMaintenanceWindow> {
  return getMaintenanceWindow(context.db, context.accountId, id);
}

describe('the life of a window', () => {
  test('a single window is scheduled, runs and ends', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await tick(context);
    expect(await windowOf(window)).toMatchObject({ state: 'scheduled', currentOccurrence: null });
    expect(await statusOf(id)).toBe('UP');
    await begin(context, window);
    const running = await windowOf(window);
    expect(running).toMatchObject({ state: 'running', nextOccurrence: null, upcoming: [] });
    expect(running.currentOccurrence).toEqual({ startsAt: running.startsAt, endsAt: running.endsAt });
    await end(context, window);
    expect(await windowOf(window)).toMatchObject({
      state: 'ended',
      currentOccurrence: null,
      nextOccurrence: null,
    });
    expect(await outcomesOf(context, window)).toEqual(['completed']);
  });

  test('a recurring window plans the next occurrence when one ends', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id], { rrule: 'FREQ=DAILY;COUNT=2' });
    await begin(context, window);
    await end(context, window);
    const after = await windowOf(window);
    expect(after).toMatchObject({ state: 'scheduled', currentOccurrence: null });
    expect(Date.parse(after.nextOccurrence?.startsAt ?? '') - Date.parse(after.startsAt)).toBe(DAY_MS);
    expect(after.upcoming).toEqual([after.nextOccurrence]);
    expect(await statusOf(id)).toBe('UP');
  });

  test('maintenance lasts until the last of overlapping or adjacent windows ends', async () => {
    const id = await makeWatched(context, [checkOf]);
    const [first, second, third] = [
      await makeWindow(context, [id]),
      await makeWindow(context, [id]),
      await makeWindow(context, [id]),
    ];
    await begin(context, first);
    await begin(context, second);
    await end(context, first);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await context.db.execute(sql`
      update maintenance_windows set occurrence_starts_at = case id when ${second} then occurrence_starts_at
          else date_trunc('milliseconds', now()) end,
        occurrence_ends_at = case id when ${second} then date_trunc('milliseconds', now()) else occurrence_ends_at end
      where id in (${second}, ${third})`);
    await tick(context);
    expect(await windowOf(second)).toMatchObject({ state: 'ended' });
    expect(await windowOf(third)).toMatchObject({ state: 'running' });
    await end(context, third);
    expect(await statusOf(id)).toBe('UP');
    expect(await storyOf(context, id)).toEqual(['monitor.maintenance UP>MAINTENANCE']);
  });

  test('adjacent occurrences cover a monitor without a gap', async () => {
    const id = await makeWatched(context, [checkOf]);
    const startsAt = new Date(Date.now() + HOUR_MS);
    const endsAt = new Date(startsAt.getTime() + DAY_MS);
    const window = await makeWindow(context, [id], { rrule: 'FREQ=DAILY', startsAt, endsAt });
    await moveWindow(context, window, 1, DAY_MS);
    await tick(context);
    await moveWindow(context, window, DAY_MS + 1, DAY_MS);
    await tick(context);
    expect(await windowOf(window)).toMatchObject({ state: 'running' });
    expect(await outcomesOf(context, window)).toEqual(['completed']);
    expect(await storyOf(context, id)).toEqual(['monitor.maintenance UP>MAINTENANCE']);
    await deleteMaintenanceWindow(context.db, systemActor(context.accountId), window);
    await tick(context);
  });
});

describe('changes of a running window', () => {
  test('monitors join and leave', async () => {
    const [stays, leaves, joins] = [
      await makeWatched(context, [checkOf]),
      await makeWatched(context, [checkOf]),
      await makeWatched(context, [checkOf]),
    ];
    const window = await makeWindow(context, [stays, leaves]);
    await begin(context, window);
    const update = { monitorIds: [stays, joins] };
    await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, update);
    expect(await tick(context)).toBe(2);
    expect([await statusOf(stays), await statusOf(leaves), await statusOf(joins)]).toEqual([
      'MAINTENANCE',
      'UP',
      'MAINTENANCE',
    ]);
    await end(context, window);
  });

  test('extending keeps it running, ending it in the past cuts it short', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    const endsAt = new Date(Date.now() + 9 * HOUR_MS);
    const extended = await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, {
      endsAt,
    });
    expect(extended).toMatchObject({
      state: 'running',
      currentOccurrence: { endsAt: endsAt.toISOString() },
    });
    expect(await tick(context)).toBe(0);
    const past = new Date(Date.parse(extended.startsAt) + 1);
    const cut = await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, {
      endsAt: past,
    });
    expect(cut).toMatchObject({ state: 'ended', currentOccurrence: null });
    expect(await tick(context)).toBe(1);
    expect(await statusOf(id)).toBe('UP');
    expect(await outcomesOf(context, window)).toEqual(['cut_short']);
  });

  test('moving it to a later time ends it, and it begins again then', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    const startsAt = new Date(Date.now() + DAY_MS);
    const update = { startsAt, endsAt: new Date(startsAt.getTime() + HOUR_MS) };
    const moved = await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, update);
    expect(moved).toMatchObject({ state: 'scheduled', nextOccurrence: { startsAt: startsAt.toISOString() } });
    await tick(context);
    expect(await statusOf(id)).toBe('UP');
    await begin(context, window);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await end(context, window);
  });

  test('an ended window that gets a new time is scheduled again; a name alone changes nothing else', async () => {
    const window = await makeWindow(context, [(await makeMonitor(context)).id]);
    await begin(context, window);
    await end(context, window);
    const renamed = await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, {
      name: 'New',
    });
    expect(renamed).toMatchObject({ name: 'New', state: 'ended' });
    const startsAt = new Date(Date.now() + DAY_MS);
    const update = { startsAt, endsAt: new Date(startsAt.getTime() + HOUR_MS) };
    const again = await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, update);
    expect(again).toMatchObject({ state: 'scheduled' });
  });

  test('deleting it ends maintenance except for monitors that another window covers', async () => {
    const [alone, shared] = [await makeWatched(context, [checkOf]), await makeWatched(context, [checkOf])];
    const [window, other] = [await makeWindow(context, [alone, shared]), await makeWindow(context, [shared])];
    await begin(context, window);
    await begin(context, other);
    const monitorIds = await deleteMaintenanceWindow(context.db, systemActor(context.accountId), window);
    expect(monitorIds).toEqual([alone, shared].toSorted());
    expect(await settleMaintenance(context.db, monitorIds)).toMatchObject({ monitors: 1 });
    expect([await statusOf(alone), await statusOf(shared)]).toEqual(['UP', 'MAINTENANCE']);
    await end(context, other);
  });
});

describe('many monitors and clocks', () => {
  /** Two clocks at once; the next round settles what each left to the other. */
  async function untilSettled(): Promise<void> {
    await Promise.all([tick(context), tick(context)]);
    await tick(context);
  }

  async function insertFleet(count: number): Promise<string[]> {
    return cloneMonitor(await makeWatched(context, [checkOf]), count);
  }

  test('1,000 monitors enter and leave once with two clocks, also after a crash', async () => {
    const ids = await insertFleet(1_000);
    const window = await makeWindow(context, ids);
    await moveWindow(context, window, 1);
    // The first clock dies after three transactions.
    await advanceWindows(context.db);
    for (let chunk = 0; chunk < 3; chunk += 1) await settleMaintenance(context.db);
    expect(await countIn('MAINTENANCE', ids)).toBe(600);

    await untilSettled();
    expect(await countIn('MAINTENANCE', ids)).toBe(1_000);
    await moveWindow(context, window, HOUR_MS + 1);
    await untilSettled();
    expect(await countIn('UP', ids)).toBe(1_000);
    const { rows } = await context.db.execute<{ changes: number; monitors: number }>(sql`
      select count(*)::int as changes, count(distinct monitor_id)::int as monitors from status_changes
      where to_status = 'MAINTENANCE' and monitor_id = any(${sql.param(ids)}::uuid[])`);
    expect(rows).toEqual([{ changes: 1_000, monitors: 1_000 }]);
  });

  test('eight concurrent clocks send nothing twice', async () => {
    const ids = await insertFleet(30);
    const window = await makeWindow(context, ids, { rrule: 'FREQ=DAILY' });
    await moveWindow(context, window, 1);
    await Promise.all(Array.from({ length: 8 }, () => tick(context)));
    await tick(context);
    await Promise.all(ids.map((id) => recordChecks(context.db, [failureOf(id)])));
    await moveWindow(context, window, HOUR_MS + 1);
    await Promise.all(Array.from({ length: 8 }, () => tick(context)));
    await tick(context);
    for (const id of ids) {
      const changes = await context.db.select().from(statusChanges).where(eq(statusChanges.monitorId, id));
      expect(changes.map((change) => change.toStatus).toSorted()).toEqual(['DOWN', 'MAINTENANCE']);
    }
    expect(await outcomesOf(context, window)).toEqual(['completed']);
    await deleteMaintenanceWindow(context.db, systemActor(context.accountId), window);
  });

  test('locked monitors do not delay the others', async () => {
    const fleet = await insertFleet(SETTLED_AT_ONCE + 5);
    const held = fleet.toSorted().slice(0, SETTLED_AT_ONCE);
    const window = await makeWindow(context, fleet);
    await moveWindow(context, window, 1);
    await context.db.transaction(async (tx) => {
      await tx.select().from(monitors).where(inArray(monitors.id, held)).for('update');
      expect(await tick(context)).toBe(5);
    });
    expect(await tick(context)).toBe(SETTLED_AT_ONCE);
    await end(context, window);
  });

  test('a window deleted during the search for its monitors puts none into maintenance', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await moveWindow(context, window, 1);
    const db = interrupted(context.db, () =>
      deleteMaintenanceWindow(context.db, systemActor(context.accountId), window),
    );
    expect(await settleMaintenance(db, [id])).toEqual({ monitors: 0, statusChangeIds: [] });
    expect(await statusOf(id)).toBe('UP');
  });

  test('a locked monitor does not delay others and is handled by the next call', async () => {
    const [held, free] = [await makeWatched(context, [checkOf]), await makeWatched(context, [checkOf])];
    const window = await makeWindow(context, [held, free]);
    await moveWindow(context, window, 1);
    await context.db.transaction(async (tx) => {
      await tx.select().from(monitors).where(eq(monitors.id, held)).for('update');
      await tick(context);
      expect(await statusOf(free)).toBe('MAINTENANCE');
      expect(await statusOf(held)).toBe('UP');
    });
    await tick(context);
    expect(await statusOf(held)).toBe('MAINTENANCE');
    await end(context, window);
  });
});

/** A database that does something else after the first statement of each transaction. */
function interrupted(db: Database, between: () => Promise<unknown>): Database {
  const transaction: Database['transaction'] = (work, config) =>
    db.transaction((tx) => {
      let isFirst = true;
      const run = async (query: SQL): Promise<unknown> => {
        const result = await tx.execute(query);
        if (isFirst) await between();
        isFirst = false;
        return result;
      };
      // Like Drizzle's, it may be awaited, or sent at once.
      const execute = (query: SQL): object => {
        const result = run(query);
        return Object.assign(result, { execute: () => result });
      };
      return work(Object.assign(Object.create(tx) as typeof tx, { execute }));
    }, config);
  return Object.assign(Object.create(db) as Database, { transaction });
}

/** Copies of a monitor, without webhook channels. */
async function cloneMonitor(model: string, count: number): Promise<string[]> {
  const { rows } = await context.db.execute<{ id: string }>(sql`
    with copies as (
      insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method,
        failure_threshold, regions, status)
      select gen_random_uuid(), account_id, name, url, type, interval_seconds, timeout_seconds, method,
        failure_threshold, regions, status
      from monitors, generate_series(1, ${count}) where id = ${model}
      returning id)
    insert into monitor_regions (monitor_id, region, last_result_at, last_latency_ms)
    select id, 'default', now(), 12 from copies returning monitor_id as id`);
  return rows.map((row) => row.id);
}

async function countIn(status: 'UP' | 'MAINTENANCE', ids: readonly string[]): Promise<number> {
  return context.db.$count(monitors, and(eq(monitors.status, status), inArray(monitors.id, [...ids])));
}
