import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { Transaction } from '@tocsin/db/database/open';
import { accounts } from '@tocsin/db/users/table';
import { sql } from 'drizzle-orm';
import { checkOf, copyMonitor, keepStatistics, makeMonitor, openTestContext } from './harness.ts';

const context = await openTestContext();
const { db, accountId } = context;
afterAll(() => context.close());

const BATCH = 200;
let batch: string[];
beforeAll(async () => {
  await keepStatistics(context);
  await db.execute(sql`vacuum analyze`);
  // Prepared statements get a generic plan after five executions.
  const { id } = await makeMonitor(context);
  for (let times = 0; times < 8; times += 1) await recordChecks(db, [checkOf(id)]);
});
beforeEach(async () => {
  await db.execute(sql`truncate monitors, maintenance_windows cascade`);
  batch = await insertMonitors(accountId, BATCH);
});

async function insertMonitors(owner: string, count: number): Promise<string[]> {
  const { id } = await makeMonitor({ ...context, accountId: owner });
  return [id, ...(await copyMonitor(context, id, count - 1))];
}

/** Adds windows of an account that cover all of these monitors. @param state ended windows were yesterday, running ones began just now */
async function insertWindows(
  owner: string,
  count: number,
  state: 'running' | 'ended',
  monitorIds: readonly string[],
): Promise<void> {
  await db.execute(sql`
    with made as (
      insert into maintenance_windows (id, account_id, name, starts_at, ends_at, state, occurrence_starts_at, occurrence_ends_at)
      select gen_random_uuid(), ${owner}, 'Upgrade', now(), now(), ${state}::text,
        case ${state}::text when 'running' then now() end, case ${state}::text when 'running' then now() + interval '1 hour' end
      from generate_series(1, ${count}::int) returning id)
    insert into maintenance_window_monitors (window_id, monitor_id)
    select made.id, m.id from made, unnest(${sql.param(monitorIds)}::uuid[]) as m (id)`);
}

/** Counts the rows of windows and assignments, and the index entries, that this transaction has read. */
async function readCount(tx: Transaction): Promise<number> {
  const { rows } = await tx.execute<{ read: number }>(sql`
    with tables as (
      select unnest(array['maintenance_windows', 'maintenance_window_monitors'])::regclass as id)
    select (sum(pg_stat_get_xact_tuples_returned(t.id))
      + sum((select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = t.id)))::int as read
    from tables t`);
  return rows[0]?.read ?? Number.NaN;
}

/** Records a result of each monitor of the batch. @returns the maintenance rows read for it, and the monitors that entered maintenance */
async function recordBatch(): Promise<{ read: number; entered: number }> {
  const read = await db.transaction(async (tx) => {
    const before = await readCount(tx);
    await recordChecks(
      tx,
      batch.map((id) => checkOf(id)),
    );
    return (await readCount(tx)) - before;
  });
  const { rowCount } = await db.execute(sql`select from monitors where status = 'MAINTENANCE'`);
  return { read, entered: rowCount ?? 0 };
}

describe('recording a batch reads', () => {
  test('no maintenance data while no window has begun', async () => {
    await insertWindows(accountId, 200, 'ended', batch);
    const { read, entered } = await recordBatch();
    expect(entered).toBe(0);
    expect(read).toBeLessThanOrEqual(200);
  });

  test('little, regardless of windows of other accounts and past windows of the monitors', async () => {
    const other = randomUUID();
    await db.insert(accounts).values({ id: other, name: 'Other' });
    await insertWindows(other, 30, 'running', await insertMonitors(other, 200));
    await insertWindows(accountId, 60, 'ended', batch);
    await insertWindows(accountId, 2, 'running', batch.slice(0, 50));
    const { read, entered } = await recordBatch();
    expect(entered).toBe(50);
    expect(read).toBeLessThan(12 * BATCH);
  });
});

// This test comes last, because the planner has statistics about the table from here on.
test('recording a batch reads a bounded number of windows of an account', async () => {
  await insertWindows(accountId, 3_000, 'running', await insertMonitors(accountId, 1));
  await db.execute(sql`analyze maintenance_windows`);
  const { read, entered } = await recordBatch();
  expect(entered).toBe(0);
  expect(read).toBeLessThan(10 * BATCH);
});
