import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type MonitorStats, monitorStatsSchema, type StatsWindow } from '@tocsin/contracts/monitors/stats';
import { bucketLatency } from '@tocsin/core/stats/latency-histogram';
import { listMonitorLatencies } from '@tocsin/db/check-rollups/monitor-latencies';
import { getMonitorStats } from '@tocsin/db/check-rollups/monitor-stats';
import { ensureRollupPartition } from '@tocsin/db/check-rollups/partitions';
import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import { checkRollups } from '@tocsin/db/check-rollups/table';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { sql } from 'drizzle-orm';
import { failureOf, makeMonitor, openTestContext } from './harness.ts';
import {
  eventAt,
  expectedRollup,
  HOUR_MS,
  insertEvents,
  monitorWithSpans,
  randomEvents,
  seeded,
  setWatermark,
  slotsOf,
  type Span,
} from './rollup-data.ts';

const context = await openTestContext();
const { db, accountId } = context;
afterAll(() => context.close());

const MINUTE_MS = 60_000;

let start: number;
beforeEach(async () => {
  start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS;
  for (const table of ['monitors', 'events', 'check_rollups', 'check_rollup_state']) {
    await db.execute(sql.raw(`delete from ${table}`));
  }
});

const stats = async (id: string, window: StatsWindow = '24h'): Promise<MonitorStats> =>
  monitorStatsSchema.parse(
    await getMonitorStats(db, accountId, id, { query: { window }, retentionDays: 90 }),
  );

/** Omits what depends on the clock, which is the ends of the window and its empty buckets. */
function still({ series, ...rest }: MonitorStats): object {
  const { window, from, to, bucketSeconds: _, current: __, ...figures } = rest;
  expect(Date.parse(to)).toBeGreaterThan(Date.parse(from));
  return {
    window,
    ...figures,
    series: series.filter(({ checks, inconclusive, gaps }) => checks + inconclusive + gaps > 0),
  };
}

async function oneSpan(fields: Partial<Parameters<typeof monitorWithSpans>[1][0]> = {}): Promise<Span> {
  const plan = { region: 'default', interval: 60, from: start, to: start + HOUR_MS, ...fields };
  const [span] = await monitorWithSpans(context, [plan]);
  if (!span) throw new Error('no span');
  return span;
}

describe('statistics of a monitor', () => {
  test('match hand-computed values', async () => {
    const span = await oneSpan();
    const id = span.monitorId;
    const slots = slotsOf(span, start, start + HOUR_MS);
    const failure = { status: 'DOWN', statusCode: null, latencyMs: 0, phases: [] } as const;
    const phases = [null, 10, 20, 31, null];
    await insertEvents(context, [
      ...slots.slice(0, 50).map((slot, index) => eventAt(id, slot, { latencyMs: index < 25 ? 10 : 1_000 })),
      ...slots.slice(50, 52).map((slot) => eventAt(id, slot, failure)),
      eventAt(id, slots[52] ?? 0, { status: 'DOWN', statusCode: 500, latencyMs: 1_000, phases }),
      eventAt(id, slots[53] ?? 0, { ...failure, inconclusive: true }),
      eventAt(id, 0, { slot: null, source: 'trigger', timestamp: start + HOUR_MS, phases }),
      eventAt(id, 0, {
        slot: null,
        source: 'trigger',
        timestamp: start + 2 * HOUR_MS,
        url: 'https://a.example',
      }),
      eventAt(id, start + 5, { region: 'other', timestamp: start + 5, status: 'DOWN', latencyMs: 3 }),
      eventAt(randomUUID(), start + 6),
    ]);
    const slow = 1_020;
    const { regions, series, ...totals } = await stats(id);
    const latency = { p50: 12, p95: slow, p99: slow };
    const inDefault = { checks: 54, failures: 3, inconclusive: 1, gaps: 6, passRate: 51 / 54 };
    const inOther = { checks: 1, failures: 1, inconclusive: 0, gaps: 0, passRate: 0 };
    const inAll = { checks: 55, failures: 4, inconclusive: 1, gaps: 6, passRate: 51 / 55 };
    expect(totals).toMatchObject({ ...inAll, latency });
    expect(regions).toEqual([
      { region: 'default', ...inDefault, latency },
      { region: 'other', ...inOther, latency: { p50: 3, p95: 3, p99: 3 } },
    ]);
    const firstHour = { checks: 54, failures: 4, inconclusive: 1, gaps: 6, passRate: 50 / 54 };
    const secondHour = { checks: 1, failures: 0, gaps: 0, passRate: 1 };
    expect(series.filter(({ checks }) => checks > 0)).toMatchObject([
      {
        start: new Date(start).toISOString(),
        ...firstHour,
        latency: { p50: 10 },
        timings: { dns: 1, tcp: 2, tls: 3, firstByte: 5, download: 2 },
      },
      {
        start: new Date(start + HOUR_MS).toISOString(),
        ...secondHour,
        timings: { dns: 0, tcp: 10, tls: 20, firstByte: 31, download: 0 },
      },
    ]);
  });

  test.each([1, 2])('count everything exactly once wherever the rollups end, seed %d', async (seed) => {
    const spans = await monitorWithSpans(context, [
      { region: 'a', interval: 60, from: start - HOUR_MS, to: start + 100 * MINUTE_MS },
      { region: 'a', interval: 20, from: start + 100 * MINUTE_MS, to: start + 4 * HOUR_MS },
      { region: 'b', interval: 300, from: start, to: start + 3 * HOUR_MS },
    ]);
    const id = spans[0]?.monitorId ?? '';
    const events = randomEvents(spans, start, start + 4 * HOUR_MS, seeded(seed));
    await insertEvents(context, events);
    const live = await Promise.all(
      (['24h', '30d'] as const).map(async (window) => still(await stats(id, window))),
    );
    const hours = Array.from({ length: 7 }, (_, index) => start + (index - 1) * HOUR_MS);
    const rollups = hours.flatMap((hour) =>
      ['a', 'b'].map((region) => expectedRollup({ monitorId: id, region }, hour, spans, events)),
    );
    expect(live[0]).toMatchObject({
      checks: rollups.reduce((sum, rollup) => sum + (rollup?.checks ?? 0), 0),
      failures: rollups.reduce((sum, rollup) => sum + (rollup?.failures ?? 0), 0),
      inconclusive: rollups.reduce((sum, rollup) => sum + (rollup?.inconclusive ?? 0), 0),
      gaps: rollups.reduce((sum, rollup) => sum + (rollup?.gaps ?? 0), 0),
    });
    await setWatermark(context, start - 2 * HOUR_MS);
    let rolled = 0;
    while ((await rollUpNextHour(db)) !== null) {
      rolled += 1;
      expect(still(await stats(id))).toEqual(live[0]);
      expect(still(await stats(id, '30d'))).toEqual(live[1]);
    }
    expect(rolled).toBeGreaterThanOrEqual(6);
    // Rollups after the watermark are not counted in addition to their events.
    await setWatermark(context, start + HOUR_MS);
    expect(still(await stats(id))).toEqual(live[0]);
    await setWatermark(context, start + 4 * HOUR_MS);
    // Hours that are rolled up are not read from events.
    await db.execute(
      sql`delete from events where timestamp < ${new Date(start + 2 * HOUR_MS).toISOString()}`,
    );
    expect(still(await stats(id))).toEqual(live[0]);
  });

  test.each([
    { interval: 60, graceMs: 75_000 },
    { interval: 7_200, graceMs: 15 * MINUTE_MS },
  ])(
    'count only slots of the current hour whose check can no longer start, every $interval s',
    async ({ interval, graceMs }) => {
      const from = Date.now() - 3 * HOUR_MS;
      const span = await oneSpan({ interval, from, to: null });
      await setWatermark(context, start);
      const all = slotsOf(span, from, Date.now());
      const kept = all.filter((_, index) => index % 3 !== 0);
      await insertEvents(
        context,
        kept.map((slot) => eventAt(span.monitorId, slot)),
      );
      const { gaps, to } = await stats(span.monitorId);
      const due = slotsOf(span, from, Date.parse(to) - graceMs);
      expect(gaps).toBe(due.filter((slot) => !kept.includes(slot)).length);
    },
  );

  test('include empty buckets', async () => {
    const { monitorId } = await oneSpan({ from: start, to: start + 1 });
    const { series, ...totals } = await stats(monitorId, '1h');
    expect(totals).toMatchObject({ checks: 0, passRate: null, latency: null, regions: [] });
    const empty = { checks: 0, gaps: 0, passRate: null, latency: null, timings: null };
    expect(series).toMatchObject(
      Array.from({ length: 60 }, (_, index) => ({
        start: new Date(Date.parse(totals.from) + index * MINUTE_MS).toISOString(),
        ...empty,
      })),
    );
  });

  test('count minutes from events, even in hours that are rolled up', async () => {
    const span = await oneSpan({ interval: 20, from: start, to: start + HOUR_MS });
    const id = span.monitorId;
    const slots = slotsOf(span, start, start + HOUR_MS);
    // Each third slot is missed, and each sixth fails.
    const events = slots
      .filter((_, index) => index % 3 !== 0)
      .map((slot, index) => eventAt(id, slot, index % 3 === 1 ? { status: 'DOWN' } : {}));
    await insertEvents(context, events);
    await setWatermark(context, start);
    await rollUpNextHour(db);
    const [from, to] = [start + 10 * MINUTE_MS, start + 20 * MINUTE_MS];
    const query = { from: new Date(from + 1), to: new Date(to), window: undefined };
    const result = monitorStatsSchema.parse(
      await getMonitorStats(db, accountId, id, { query, retentionDays: 90 }),
    );
    expect(result).toMatchObject({ window: null, bucketSeconds: 60, from: new Date(from).toISOString() });
    expect(result.series).toEqual(
      Array.from({ length: 10 }, (_, index) => {
        const [first, last] = [from + index * MINUTE_MS, from + (index + 1) * MINUTE_MS];
        const own = events.filter(({ timestamp }) => timestamp >= first && timestamp < last);
        const planned = slotsOf(span, first, last);
        return expect.objectContaining({
          start: new Date(first).toISOString(),
          checks: own.length,
          failures: own.filter(({ status }) => status === 'DOWN').length,
          gaps: planned.filter((slot) => own.every((event) => event.slot !== slot)).length,
        });
      }),
    );
    // Where events are deleted, hours are counted from rollups.
    await db.execute(sql`delete from events`);
    const old = await getMonitorStats(db, accountId, id, { query, retentionDays: 0 });
    expect(old).toMatchObject({ bucketSeconds: 3_600, checks: events.length });
  });

  test('have the latest result of each region', async () => {
    const { id } = await makeMonitor(context);
    for (let failures = 0; failures < 2; failures += 1) await recordChecks(db, [failureOf(id)]);
    const current = [{ region: 'default', status: 'DOWN', consecutiveFailures: 2 }];
    expect(await stats(id)).toMatchObject({ current, checks: 2, failures: 2 });
  });
});

const UNTIL = Date.parse('2026-03-10T12:00:00Z');

async function addRollup(
  monitorId: string,
  hoursAgo: number,
  counts: Readonly<Record<number, number>>,
  region = 'default',
): Promise<void> {
  const checks = Object.values(counts).reduce((sum, count) => sum + count, 0);
  await db.insert(checkRollups).values({
    monitorId,
    region,
    hour: new Date(UNTIL - hoursAgo * HOUR_MS),
    checks,
    failures: 0,
    gaps: 0,
    latencyBuckets: Object.keys(counts).map(Number),
    latencyCounts: Object.values(counts),
    timedChecks: checks,
    dnsSumMs: 0,
    tcpSumMs: 0,
    tlsSumMs: 0,
    firstByteSumMs: 0,
    downloadSumMs: 0,
  });
}

async function latencies(owner = accountId): Promise<Record<string, [number, number]>> {
  const listed = await listMonitorLatencies(db, owner);
  return Object.fromEntries(listed.map(({ monitorId, p95, p99 }) => [monitorId, [p95, p99]]));
}

test('the latency of every monitor covers its regions in the last full hour and the checks since', async () => {
  await db.execute(sql`delete from check_rollup_state`);
  expect(await latencies()).toEqual({});
  await ensureRollupPartition(db, new Date(UNTIL));
  await setWatermark(context, UNTIL);
  const [busy, old] = [await makeMonitor(context), await makeMonitor(context)];
  await addRollup(busy.id, 1, { 10: 95, 30: 4, 50: 1 });
  // These are before the period, after it, and from a region that no longer checks the monitor.
  await addRollup(busy.id, 2, { 60: 1_000 });
  await addRollup(busy.id, 0, { 60: 1_000 });
  await addRollup(busy.id, 1, { 60: 1_000 }, 'former');
  await addRollup(old.id, 5, { 10: 1 });
  await addRollup((await makeMonitor(context)).id, 1, {});
  // Another check in the last bucket changes both percentiles.
  const slower = await makeMonitor(context);
  await addRollup(slower.id, 1, { 10: 94, 30: 4, 50: 2 });
  expect(await latencies()).toEqual({
    [busy.id]: [10, 30].map(bucketLatency),
    [slower.id]: [30, 50].map(bucketLatency),
  });
  // Failures without a response, inconclusive checks and checks of another URL have no latency of the monitor.
  const [late, fresh] = [bucketLatency(70), await makeMonitor(context)];
  await ensureEventPartitions(db, { now: UNTIL });
  const since = (id: string, fields = {}) => eventAt(id, UNTIL + 1, { latencyMs: late, ...fields });
  const of = (index: number, fields = {}) => since(busy.id, { timestamp: UNTIL + index, ...fields });
  await insertEvents(context, [
    since(fresh.id),
    ...Array.from({ length: 6 }, (_, index) => of(index)),
    of(10, { inconclusive: true, latencyMs: 30_000 }),
    of(11, { url: 'https://other.example', latencyMs: 30_000 }),
    of(12, { status: 'DOWN', statusCode: null, latencyMs: 30_000 }),
  ]);
  expect(await latencies()).toMatchObject({ [busy.id]: [late, late], [fresh.id]: [late, late] });
  expect(await latencies('00000000-0000-7000-8000-000000000000')).toEqual({});
});
