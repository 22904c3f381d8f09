import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type MonitorStats, monitorStatsSchema, type StatsWindow } from '@tocsin/contracts/monitors/stats';
import { getMonitorStats } from '@tocsin/db/check-rollups/monitor-stats';
import { ensureRollupPartition } from '@tocsin/db/check-rollups/partitions';
import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { sql } from 'drizzle-orm';
import { failureOf, makeMonitor, openTestContext, type TestContext } from './harness.ts';
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

const MINUTE_MS = 60_000;

let context: TestContext;
let start: number;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());
beforeEach(async () => {
  start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS;
  for (const table of ['monitors', 'events', 'check_rollups', 'check_rollup_state']) {
    await context.db.execute(sql.raw(`delete from ${table}`));
  }
});

const stats = async (id: string, window: StatsWindow = '24h'): Promise<MonitorStats> =>
  monitorStatsSchema.parse(
    await getMonitorStats(context.db, context.accountId, id, { query: { window }, retentionDays: 90 }),
  );

/** What does not move with the clock: everything but the window's ends and its empty buckets. */
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
    const hour = { checks: 54, failures: 4, inconclusive: 1, gaps: 6, uptime: 50 / 54 };
    expect(still(await stats(id))).toEqual({
      window: '24h',
      checks: 55,
      failures: 4,
      inconclusive: 1,
      gaps: 6,
      uptime: 51 / 55,
      latency: { p50: 12, p95: slow, p99: slow },
      regions: [
        {
          region: 'default',
          checks: 54,
          failures: 3,
          inconclusive: 1,
          gaps: 6,
          uptime: 51 / 54,
          latency: { p50: 12, p95: slow, p99: slow },
        },
        {
          region: 'other',
          checks: 1,
          failures: 1,
          inconclusive: 0,
          gaps: 0,
          uptime: 0,
          latency: { p50: 3, p95: 3, p99: 3 },
        },
      ],
      series: [
        {
          start: new Date(start).toISOString(),
          ...hour,
          latency: { p50: 10, p95: slow, p99: slow },
          timings: { dns: 1, tcp: 2, tls: 3, firstByte: 5, download: 2 },
        },
        {
          start: new Date(start + HOUR_MS).toISOString(),
          checks: 1,
          failures: 0,
          inconclusive: 0,
          gaps: 0,
          uptime: 1,
          latency: { p50: 12, p95: 12, p99: 12 },
          timings: { dns: 0, tcp: 10, tls: 20, firstByte: 31, download: 0 },
        },
      ],
    });
  });

  test.each([1, 2, 3])('count everything exactly once wherever the rollups end, seed %d', async (seed) => {
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
    while ((await rollUpNextHour(context.db)) !== null) {
      rolled += 1;
      expect(still(await stats(id))).toEqual(live[0]);
      expect(still(await stats(id, '30d'))).toEqual(live[1]);
    }
    expect(rolled).toBeGreaterThanOrEqual(6);
    // Rollups after the watermark are not counted in addition to their events.
    await setWatermark(context, start + HOUR_MS);
    expect(still(await stats(id))).toEqual(live[0]);
    await setWatermark(context, start + 4 * HOUR_MS);
    // What is rolled up is not read from the events again.
    await context.db.execute(
      sql`delete from events where timestamp < ${new Date(start + 2 * HOUR_MS).toISOString()}`,
    );
    expect(still(await stats(id))).toEqual(live[0]);
  });

  test.each([
    { interval: 60, graceMs: 75_000 },
    { interval: 5, graceMs: 20_000 },
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

  test.each([
    ['1h', 60, 1 / 60],
    ['6h', 72, 1 / 12],
    ['24h', 24, 1],
    ['7d', 168, 1],
    ['30d', 120, 6],
    ['90d', 90, 24],
  ] as const)('%s has %d buckets of %d h, including empty ones', async (window, buckets, hours) => {
    const { monitorId } = await oneSpan({ from: start, to: start + 1 });
    const response = await stats(monitorId, window);
    const first = Date.parse(response.from);
    expect(first % (hours * HOUR_MS)).toBe(0);
    expect(response).toMatchObject({ window, checks: 0, uptime: null, latency: null, regions: [] });
    expect(response.series).toEqual(
      Array.from({ length: buckets }, (_, index) => ({
        start: new Date(first + index * hours * HOUR_MS).toISOString(),
        checks: 0,
        failures: 0,
        inconclusive: 0,
        gaps: 0,
        uptime: null,
        latency: null,
        timings: null,
      })),
    );
    const behind = Date.parse(response.to) - Date.parse(response.series.at(-1)?.start ?? '');
    expect(behind).toBeGreaterThanOrEqual(0);
    expect(behind).toBeLessThan(hours * HOUR_MS);
  });

  test('count minutes from events, also of hours that are rolled up', async () => {
    const span = await oneSpan({ interval: 20, from: start, to: start + HOUR_MS });
    const id = span.monitorId;
    const slots = slotsOf(span, start, start + HOUR_MS);
    // Each third slot is missed, and each sixth fails.
    const events = slots
      .filter((_, index) => index % 3 !== 0)
      .map((slot, index) => eventAt(id, slot, index % 3 === 1 ? { status: 'DOWN' } : {}));
    await insertEvents(context, events);
    await setWatermark(context, start);
    await rollUpNextHour(context.db);
    const period = { from: new Date(start + 10 * MINUTE_MS + 1), to: new Date(start + 20 * MINUTE_MS) };
    const query = { ...period, window: undefined };
    const result = monitorStatsSchema.parse(
      await getMonitorStats(context.db, context.accountId, id, { query, retentionDays: 90 }),
    );
    const [from, to] = [start + 10 * MINUTE_MS, start + 20 * MINUTE_MS];
    expect(result).toMatchObject({
      window: null,
      bucketSeconds: 60,
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
    });
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
    await context.db.execute(sql`delete from events`);
    const old = await getMonitorStats(context.db, context.accountId, id, { query, retentionDays: 0 });
    expect(old).toMatchObject({ bucketSeconds: 3_600, checks: events.length });
  });

  test('have the latest result of each region from the same snapshot', async () => {
    const { id } = await makeMonitor(context);
    for (let failures = 1; failures <= 3; failures += 1) {
      await recordChecks(context.db, [failureOf(id)]);
      const { current, ...result } = await stats(id);
      expect(current).toMatchObject([{ region: 'default', status: 'DOWN', consecutiveFailures: failures }]);
      expect(result).toMatchObject({ checks: failures, failures });
    }
  });

  test('use UTC days and quarters of days', async () => {
    const noon = Math.floor(Date.now() / (24 * HOUR_MS) - 2) * 24 * HOUR_MS + 12 * HOUR_MS;
    const { monitorId } = await oneSpan({ from: start, to: start + 1 });
    // It may be in the previous month.
    await ensureRollupPartition(context.db, new Date(noon));
    await context.db.execute(sql`
      insert into check_rollups select ${monitorId}, 'default', t, 2, 1, 3, '{5,7}', '{1,1}', 2, 4, 4, 4, 4, 4
      from unnest(array[${new Date(noon).toISOString()}, ${new Date(noon + HOUR_MS).toISOString()}]::timestamptz[]) t`);
    await setWatermark(context, start);
    const figures = { checks: 4, failures: 2, gaps: 6, uptime: 0.5, latency: { p50: 5, p95: 7, p99: 7 } };
    const timings = { dns: 2, tcp: 2, tls: 2, firstByte: 2, download: 2 };
    for (const [window, at] of [
      ['30d', noon],
      ['90d', noon - 12 * HOUR_MS],
    ] as const) {
      const series = [{ start: new Date(at).toISOString(), ...figures, timings }];
      expect(still(await stats(monitorId, window))).toMatchObject({ ...figures, series });
    }
    expect(still(await stats(monitorId, '24h'))).toMatchObject({ checks: 0, series: [] });
  });
});
