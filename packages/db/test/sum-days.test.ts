import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { readTotals } from '@tocsin/db/check-rollups/count-checks';
import { ensureRollupPartition } from '@tocsin/db/check-rollups/partitions';
import { sumUpNextDay } from '@tocsin/db/check-rollups/sum-days';
import { readSnapshot } from '@tocsin/db/database/open';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { sql } from 'drizzle-orm';
import { makeMonitor, openTestContext } from './harness.ts';
import { HOUR_MS, setWatermark } from './rollup-data.ts';

const DAY_MS = 24 * HOUR_MS;
const DAYS = 3;
/** In the middle of a month, so that all days are in one partition. */
const START = Date.UTC(2026, 0, 14);

const context = await openTestContext();
const { db, actor } = context;
afterAll(() => context.close());

let ids: string[];
beforeEach(async () => {
  await db.execute(sql`truncate monitors, check_rollups, check_days, check_rollup_state cascade`);
  ids = [];
  for (let count = 0; count < 3; count += 1) ids.push((await makeMonitor(context)).id);
  await ensureRollupPartition(db, new Date(START));
  // Each hour differs, so that an hour that is missing or counted twice changes the sums.
  await db.execute(sql`
    insert into check_rollups (monitor_id, region, hour, checks, failures, inconclusive, gaps, latency_buckets, latency_counts,
      timed_checks, dns_sum_ms, tcp_sum_ms, tls_sum_ms, first_byte_sum_ms, download_sum_ms)
    select id, region, ${iso(START)}::timestamptz + n * interval '1 hour', (n * n)::int, n::int, 0, (3 * n)::int, '{}', '{}',
      0, 0, 0, 0, 0, 0
    from monitors, unnest(array['a', 'b']) region, generate_series(1, ${DAYS * 24 - 1}) n`);
});

function iso(time: number): string {
  return new Date(time).toISOString();
}

async function sumUp(batchSize?: number): Promise<void> {
  while (await sumUpNextDay(db, batchSize === undefined ? {} : { batchSize }));
}

test.each([[1], [2], [3], [undefined]])(
  'sums up the days that are over, in slices of %p',
  async (batchSize) => {
    await setWatermark(context, START + 2 * DAY_MS + 5 * HOUR_MS);
    await sumUp(batchSize);
    const { rows: written } = await db.execute(sql`
    select monitor_id, day, checks, failures, gaps from check_days order by 1, 2`);
    const { rows: expected } = await db.execute(sql`
    select monitor_id, date_trunc('day', hour, 'UTC') as day, sum(checks)::int as checks, sum(failures)::int as failures,
      sum(gaps)::int as gaps
    from check_rollups where hour < ${iso(START + 2 * DAY_MS)} group by 1, 2 order by 1, 2`);
    expect(written).toHaveLength(6);
    expect(written).toEqual(expected);
    await setWatermark(context, START + 3 * DAY_MS);
    await sumUp(batchSize);
    await sumUp(batchSize);
    expect((await db.execute(sql`select from check_days`)).rowCount).toBe(9);
  },
);

test('gives the same totals with and without the sums', async () => {
  const rolledUntil = START + 60 * HOUR_MS;
  await setWatermark(context, rolledUntil);
  await sumUp();
  const totals = (from: number, to: number, summedUntil: number | null) => {
    const range = { from: START + from * HOUR_MS, to: START + to * HOUR_MS, now: Date.now() };
    return readSnapshot(db, (tx) => readTotals(tx, ids, { ...range, rolledUntil, summedUntil }));
  };
  const sorted = async (...range: Parameters<typeof totals>) =>
    (await totals(...range)).toSorted((one, other) => (one.monitorId < other.monitorId ? -1 : 1));
  const periods: [number, number][] = [
    [0, 60],
    [5, 72],
    [24, 48],
    [5, 23],
    [23, 25],
    [47, 60],
    [25, 72],
  ];
  for (const [from, to] of periods) {
    const expected = await sorted(from, to, null);
    expect(expected).toHaveLength(3);
    for (const summedUntil of [START, START + DAY_MS, START + 2 * DAY_MS])
      expect(await sorted(from, to, summedUntil)).toEqual(expected);
  }
});

test('leaves no sums of a deleted monitor', async () => {
  await setWatermark(context, START + DAYS * DAY_MS);
  const [id = ''] = ids;
  await sumUpNextDay(db);
  await deleteMonitor(db, actor, id);
  await sumUp();
  await purgeDeletedMonitors(db);
  const { rows } = await db.execute(
    sql`select monitor_id, count(*)::int from check_days group by 1 order by 1`,
  );
  expect(rows).toEqual(
    ids
      .slice(1)
      .toSorted()
      .map((monitor_id) => ({ monitor_id, count: DAYS })),
  );
});
