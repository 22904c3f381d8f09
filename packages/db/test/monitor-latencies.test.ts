import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { latencyQuantile } from '@tocsin/core/stats/latency-histogram';
import { listMonitorLatencies } from '@tocsin/db/check-rollups/monitor-latencies';
import { ensureRollupPartition } from '@tocsin/db/check-rollups/partitions';
import { checkRollups } from '@tocsin/db/check-rollups/table';
import { sql } from 'drizzle-orm';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';
import { HOUR_MS, seeded, setWatermark } from './rollup-data.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

const UNTIL = Date.parse('2026-03-10T12:00:00Z');

async function addRollup(
  monitorId: string,
  hoursAgo: number,
  counts: Readonly<Record<number, number>>,
  region = 'default',
): Promise<void> {
  const checks = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const phases = { dnsSumMs: 0, tcpSumMs: 0, tlsSumMs: 0, firstByteSumMs: 0, downloadSumMs: 0 };
  await context.db.insert(checkRollups).values({
    monitorId,
    region,
    hour: new Date(UNTIL - hoursAgo * HOUR_MS),
    checks,
    failures: 0,
    gaps: 0,
    latencyBuckets: Object.keys(counts).map(Number),
    latencyCounts: Object.values(counts),
    timedChecks: checks,
    ...phases,
  });
}

async function latencies(accountId = context.accountId): Promise<Record<string, [number, number]>> {
  const listed = await listMonitorLatencies(context.db, accountId);
  return Object.fromEntries(listed.map(({ monitorId, p95, p99 }) => [monitorId, [p95, p99]]));
}

test('the latency of every monitor is that of its regions in the last three full hours', async () => {
  await context.db.execute(sql`delete from check_rollup_state`);
  expect(await latencies()).toEqual({});
  await ensureRollupPartition(context.db, new Date(UNTIL));
  await setWatermark(context, UNTIL);
  const [busy, old, failing] = [
    await makeMonitor(context),
    await makeMonitor(context),
    await makeMonitor(context),
  ];
  await addRollup(busy.id, 1, { 10: 90, 30: 5 });
  await addRollup(busy.id, 3, { 30: 3, 50: 2 });
  // Before the period, after it, and of a region that does not check the monitor any more.
  await addRollup(busy.id, 4, { 60: 1_000 });
  await addRollup(busy.id, 0, { 60: 1_000 });
  await addRollup(busy.id, 2, { 60: 1_000 }, 'former');
  await addRollup(old.id, 5, { 10: 1 });
  await addRollup(failing.id, 1, {});
  const histogram = new Map([
    [10, 90],
    [30, 8],
    [50, 2],
  ]);
  expect(await latencies()).toEqual({
    [busy.id]: [latencyQuantile(histogram, 0.95), latencyQuantile(histogram, 0.99)],
  });
  expect(await latencies('00000000-0000-7000-8000-000000000000')).toEqual({});
});

test('the percentiles of random histograms equal those of the nearest rank', async () => {
  await ensureRollupPartition(context.db, new Date(UNTIL));
  await setWatermark(context, UNTIL);
  const random = seeded(7);
  const expected: Record<string, unknown> = {};
  for (let index = 0; index < 40; index += 1) {
    const { id } = await makeMonitor(context);
    const counts: Record<number, number> = {};
    for (let size = 0; size <= index % 8; size += 1) {
      counts[1 + Math.floor(random() * 100)] = 1 + Math.floor(random() * (index % 2 === 0 ? 3 : 60));
    }
    await addRollup(id, 1 + (index % 3), counts);
    const histogram = new Map(Object.entries(counts).map(([bucket, count]) => [Number(bucket), count]));
    expected[id] = [latencyQuantile(histogram, 0.95), latencyQuantile(histogram, 0.99)];
  }
  expect(await latencies()).toMatchObject(expected);
});
