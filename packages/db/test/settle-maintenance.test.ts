import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { Database } from '@tocsin/db/database/open';
import { tryAlone } from '@tocsin/db/database/try-alone';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { readCovered } from '@tocsin/db/maintenance-windows/coverage';
import { getMaintenanceWindow } from '@tocsin/db/maintenance-windows/read-windows';
import { MAX_SETTLE_BATCH_SIZE, settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import { deleteMaintenanceWindow } from '@tocsin/db/maintenance-windows/write-windows';
import { monitors } from '@tocsin/db/monitors/table';
import { and, eq, inArray, sql, type SQL } from 'drizzle-orm';
import { checkOf, copyMonitor, makeMonitor, refuseRows, useTestContext } from './harness.ts';
import { end, makeWatched, makeWindow, moveWindow, outcomesOf, rowOf, tick } from './maintenance-harness.ts';

const NOTHING = { matchLabels: { app: 'no-such-app' } };

const HOUR_MS = 3_600_000;

const context = await useTestContext();
const { db, accountId, actor } = context;

/** Makes monitors that are UP, without channels. */
async function makeFleet(count: number): Promise<string[]> {
  return copyMonitor(context, await makeWatched(context, [checkOf]), count);
}

async function countIn(status: 'UP' | 'MAINTENANCE', ids: readonly string[]): Promise<number> {
  return db.$count(monitors, and(eq(monitors.status, status), inArray(monitors.id, [...ids])));
}

test('hundreds of monitors enter and leave once with several clocks, even after a crash', async () => {
  const count = 2 * MAX_SETTLE_BATCH_SIZE + 50;
  const ids = await makeFleet(count);
  const window = await makeWindow(context, ids);
  await moveWindow(context, window, 1);
  // The first clock dies after one transaction.
  await advanceWindows(db);
  await settleMaintenance(db);
  expect(await countIn('MAINTENANCE', ids)).toBe(MAX_SETTLE_BATCH_SIZE);
  // Several clocks run at once. The next round settles what each left to the others.
  const tickTogether = async (): Promise<void> => {
    await Promise.all([1, 2, 3, 4].map(() => tick(context)));
    await tick(context);
  };
  await tickTogether();
  expect(await countIn('MAINTENANCE', ids)).toBe(count);
  await moveWindow(context, window, HOUR_MS + 1);
  await tickTogether();
  expect(await outcomesOf(context, window)).toEqual(['completed']);
  expect(await countIn('UP', ids)).toBe(count);
  const { rows } = await db.execute(sql`
    select count(*)::int as changes, count(distinct monitor_id)::int as monitors from status_changes
    where to_status = 'MAINTENANCE' and monitor_id = any(${sql.param(ids)}::uuid[])`);
  expect(rows).toEqual([{ changes: count, monitors: count }]);
});

test('locked monitors do not delay the others, and are handled by the next call', async () => {
  const fleet = await makeFleet(MAX_SETTLE_BATCH_SIZE + 5);
  const held = fleet.toSorted().slice(0, MAX_SETTLE_BATCH_SIZE);
  const window = await makeWindow(context, fleet);
  await moveWindow(context, window, 1);
  await db.transaction(async (tx) => {
    await tx.select().from(monitors).where(inArray(monitors.id, held)).for('update');
    expect(await tick(context)).toBe(5);
  });
  expect(await tick(context)).toBe(MAX_SETTLE_BATCH_SIZE);
  await end(context, window);
  expect(await countIn('UP', fleet)).toBe(fleet.length);
});

test('monitors and windows for which Postgres reaches a time limit do not stop the others', async () => {
  const ids = await makeFleet(4);
  const windows = [await makeWindow(context, ids), await makeWindow(context, [], { selector: NOTHING })];
  for (const window of windows) await moveWindow(context, window, 1);
  const refuse = (table: string, refusedIds: readonly string[]) =>
    refuseRows(context, table, `new.id in ('${refusedIds.join("', '")}')`, 'query_canceled');
  const bad = ids.slice(0, 2);
  const acceptMonitors = await refuse('monitors', bad);
  await advanceWindows(db);
  expect(await settleMaintenance(db)).toMatchObject({ monitors: 2, refused: { length: 2 } });
  const { refused } = await settleMaintenance(db);
  expect(refused.map(({ id }) => id).toSorted()).toEqual(bad.toSorted());
  expect(await settleMaintenance(db, null, bad)).toMatchObject({ monitors: 0, refused: [] });
  await acceptMonitors();
  for (const window of windows) await moveWindow(context, window, HOUR_MS + 1);
  const acceptEnds = await refuse('maintenance_windows', windows.slice(0, 1));
  expect(await advanceWindows(db)).toMatchObject({ ended: 1, refused: [{ id: windows[0] }] });
  expect(await getMaintenanceWindow(db, accountId, windows[1] ?? '')).toMatchObject({ state: 'ended' });
  expect(await advanceWindows(db, { excludedIds: windows })).toMatchObject({ refused: [] });
  expect(await advanceWindows(db, { among: windows.slice(1) })).toMatchObject({ refused: [] });
  await acceptEnds();
  expect(await advanceWindows(db, { among: windows })).toMatchObject({ ended: 1 });
  await tick(context);
});

test('records of a refused batch are tried with a short time limit, in another order each time', async () => {
  const records = Array.from({ length: 20 }, (_, index) => ({ id: String(index) }));
  const readLimit = sql`select current_setting('statement_timeout') as limit`;
  const attempt = async (): Promise<unknown[]> => {
    const tried = await tryAlone(db, records, async (tx, { id }) => [id, (await tx.execute(readLimit)).rows]);
    return tried.results;
  };
  const [first, second] = [await attempt(), await attempt()];
  expect(first).toContainEqual(['0', [{ limit: '1s' }]]);
  expect(first).not.toEqual(second);
  expect(new Set(first.map(String))).toEqual(new Set(second.map(String)));
});

/** Wraps the database to call `between` after the first statement of each transaction. */
function interrupted(between: () => Promise<unknown>): Database {
  const transaction: Database['transaction'] = (work, config) =>
    db.transaction((tx) => {
      let isFirst = true;
      const run = async (query: SQL): Promise<unknown> => {
        const result = await tx.execute(query);
        if (isFirst) await between();
        isFirst = false;
        return result;
      };
      // As with Drizzle, the query may be awaited or sent at once.
      const execute = (query: SQL): object => {
        const result = run(query);
        return Object.assign(result, { execute: () => result });
      };
      return work(Object.assign(Object.create(tx) as typeof tx, { execute }));
    }, config);
  return Object.assign(Object.create(db) as Database, { transaction });
}

test('a window deleted during the search for its monitors puts none into maintenance', async () => {
  const id = await makeWatched(context, [checkOf]);
  const window = await makeWindow(context, [id]);
  await moveWindow(context, window, 1);
  const settled = await settleMaintenance(
    interrupted(() => deleteMaintenanceWindow(db, actor, window)),
    [id],
  );
  expect(settled).toMatchObject({ monitors: 0, statusChangeIds: [] });
  expect(await rowOf(context, id)).toMatchObject({ status: 'UP' });
});

// If many windows have begun, the windows of each monitor are read instead.
test.each([1, 25])(
  'of %i begun windows, a current one of its own account covers a monitor',
  async (begun) => {
    const ids = await Promise.all(Array.from({ length: 4 }, async () => (await makeMonitor(context)).id));
    const [covered = '', past = '', future = ''] = ids;
    const windows = [await makeWindow(context, [covered])];
    while (windows.length < begun) windows.push(await makeWindow(context, [], { selector: NOTHING }));
    for (const window of windows) await moveWindow(context, window, 1);
    await moveWindow(context, await makeWindow(context, [past, covered]), HOUR_MS + 1);
    await makeWindow(context, [future]);
    const coveredIn = async (account: string): Promise<string[]> => {
      const all = ids.map((id) => ({ id, accountId: account }));
      return [...(await db.transaction((tx) => readCovered(tx, all)))];
    };
    expect(await coveredIn(accountId)).toEqual([covered]);
    expect(await coveredIn(randomUUID())).toEqual([]);
  },
);
