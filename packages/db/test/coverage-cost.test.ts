import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { Transaction } from '@tocsin/db/database/open';
import { readCovered } from '@tocsin/db/maintenance-windows/coverage';
import { accounts } from '@tocsin/db/users/table';
import { sql } from 'drizzle-orm';
import { checkOf, keepStatistics, makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
  await keepStatistics(context);
  await context.db.execute(sql`vacuum analyze`);
  // Prepared statements get a generic plan after five executions.
  const { id } = await makeMonitor(context);
  for (let times = 0; times < 8; times += 1) await recordChecks(context.db, [checkOf(id)]);
});
afterAll(() => context.close());

const BATCH = 200;
let batch: string[];
beforeEach(async () => {
  await context.db.execute(sql`truncate monitors, maintenance_windows cascade`);
  batch = await insertMonitors(context.accountId, BATCH);
});

async function insertMonitors(accountId: string, count: number): Promise<string[]> {
  const { rows } = await context.db.execute<{ id: string }>(sql`
    with made as (
      insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method,
        failure_threshold, regions, status)
      select gen_random_uuid(), ${accountId}, 'Shop', 'https://shop.example', 'HTTP', 60, 10, 'GET', 1, '{}', 'UP'
      from generate_series(1, ${count}::int) returning id)
    insert into monitor_regions (monitor_id, region) select id, 'default' from made returning monitor_id as id`);
  return rows.map(({ id }) => id);
}

/** Windows of an account over all of these monitors. @param state ended ones were yesterday, running ones began just now */
async function insertWindows(
  accountId: string,
  count: number,
  state: 'running' | 'ended',
  monitorIds: readonly string[],
): Promise<void> {
  await context.db.execute(sql`
    with made as (
      insert into maintenance_windows (id, account_id, name, starts_at, ends_at, state, occurrence_starts_at, occurrence_ends_at)
      select gen_random_uuid(), ${accountId}, 'Upgrade', now(), now(), ${state}::text,
        case ${state}::text when 'running' then now() end, case ${state}::text when 'running' then now() + interval '1 hour' end
      from generate_series(1, ${count}::int) returning id)
    insert into maintenance_window_monitors (window_id, monitor_id)
    select made.id, m.id from made, unnest(${sql.param(monitorIds)}::uuid[]) as m (id)`);
}

/** Rows of windows and assignments, and entries of their indices, that this transaction has read. */
async function readCount(tx: Transaction): Promise<number> {
  const { rows } = await tx.execute<{ read: number }>(sql`
    with tables as (
      select unnest(array['maintenance_windows', 'maintenance_window_monitors'])::regclass as id)
    select (sum(pg_stat_get_xact_tuples_returned(t.id))
      + sum((select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = t.id)))::int as read
    from tables t`);
  return rows[0]?.read ?? Number.NaN;
}

/** Records a result of each monitor of the batch. @returns what was read of maintenance for it, and how many monitors entered it */
async function recordBatch(): Promise<{ read: number; entered: number }> {
  const read = await context.db.transaction(async (tx) => {
    const before = await readCount(tx);
    await recordChecks(
      tx,
      batch.map((id) => checkOf(id)),
    );
    return (await readCount(tx)) - before;
  });
  const { rowCount } = await context.db.execute(sql`select from monitors where status = 'MAINTENANCE'`);
  return { read, entered: rowCount ?? 0 };
}

describe('recording a batch reads', () => {
  test('no maintenance data while no window has begun', async () => {
    await insertWindows(context.accountId, 200, 'ended', batch);
    const { read, entered } = await recordBatch();
    expect(entered).toBe(0);
    expect(read).toBeLessThanOrEqual(200);
  });

  test('little, regardless of the number of monitors in windows of other accounts', async () => {
    const other = randomUUID();
    await context.db.insert(accounts).values({ id: other, name: 'Other' });
    await insertWindows(other, 100, 'running', await insertMonitors(other, 500));
    await insertWindows(context.accountId, 1, 'running', batch.slice(0, 50));
    expect(await recordBatch()).toEqual({ read: expect.any(Number), entered: 50 });
    const { read } = await recordBatch();
    expect(read).toBeLessThan(10 * BATCH);
  });

  test('little, regardless of the number of windows of the account that have begun', async () => {
    const others = await insertMonitors(context.accountId, 500);
    await insertWindows(context.accountId, 100, 'running', others);
    await insertWindows(context.accountId, 1, 'running', batch.slice(0, 50));
    const { read, entered } = await recordBatch();
    expect(entered).toBe(50);
    expect(read).toBeLessThan(10 * BATCH);
  });

  test('little, regardless of the number of windows of other accounts that have begun', async () => {
    const other = randomUUID();
    await context.db.insert(accounts).values({ id: other, name: 'Other' });
    await insertWindows(other, 5_000, 'running', await insertMonitors(other, 1));
    await insertWindows(context.accountId, 1, 'running', batch.slice(0, 50));
    const { read, entered } = await recordBatch();
    expect(entered).toBe(50);
    expect(read).toBeLessThan(10 * BATCH);
  });

  test('little, regardless of the number of past windows of the monitors', async () => {
    await insertWindows(context.accountId, 300, 'ended', batch);
    await insertWindows(context.accountId, 2, 'running', batch.slice(0, 50));
    const { read, entered } = await recordBatch();
    expect(entered).toBe(50);
    expect(read).toBeLessThan(12 * BATCH);
  });
});

test('only a current window of its own account covers a monitor', async () => {
  const [covered = '', past = '', future = '', alone = ''] = batch;
  await insertWindows(context.accountId, 1, 'running', [covered]);
  await insertWindows(context.accountId, 5, 'ended', [covered, past]);
  await insertWindows(context.accountId, 1, 'running', [future]);
  await context.db.execute(sql`
    update maintenance_windows set occurrence_starts_at = now() + interval '1 minute'
    where id in (select window_id from maintenance_window_monitors where monitor_id = ${future})`);
  const monitors = [covered, past, future, alone].map((id) => ({ id, accountId: context.accountId }));
  const found = await context.db.transaction((tx) => readCovered(tx, monitors));
  expect([...found]).toEqual([covered]);
});

// Last: the planner knows the table from here on.
test('recording a batch reads a bounded number of windows of an account', async () => {
  await insertWindows(context.accountId, 5_000, 'running', await insertMonitors(context.accountId, 1));
  await context.db.execute(sql`analyze maintenance_windows`);
  const { read, entered } = await recordBatch();
  expect(entered).toBe(0);
  expect(read).toBeLessThan(10 * BATCH);
});
