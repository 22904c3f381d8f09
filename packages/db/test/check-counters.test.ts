import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DURATION_BOUNDS_MS, durationBucketOf } from '@tocsin/core/stats/latency-histogram';
import { systemActor } from '@tocsin/db/audit-log/actor';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { type MonitorMetrics, readMonitorMetrics } from '@tocsin/db/monitor-regions/read-metrics';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { createTrigger } from '@tocsin/db/triggers/triggers';
import { accounts } from '@tocsin/db/users/table';
import { sql } from 'drizzle-orm';
import { checkOf, failureOf, makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

const REGIONS = ['eu', 'us'];

async function readMetrics(source?: string): Promise<MonitorMetrics[]> {
  const found: MonitorMetrics[] = [];
  const filter = { source, withLabels: true };
  for await (const page of readMonitorMetrics(context.db, context.accountId, filter)) found.push(...page);
  return found;
}

async function metricsOf(monitorId: string): Promise<MonitorMetrics | undefined> {
  return (await readMetrics()).find(({ id }) => id === monitorId);
}

/** What the events of a monitor in a region say about its counters. */
async function countEvents(monitorId: string, region: string): Promise<object> {
  const { rows } = await context.db.execute<{ result: string; duration: number | null }>(sql`
    select case when inconclusive then 'inconclusive' else status end as result,
      case when status_code is not null and not inconclusive then latency_ms end as duration
    from events where monitor_id = ${monitorId} and region = ${region} and url is null`);
  const countOf = (wanted: string): number => rows.filter(({ result }) => result === wanted).length;
  const durations = rows.flatMap(({ duration }) => duration ?? []);
  const durationCounts = Array.from({ length: DURATION_BOUNDS_MS.length + 1 }, () => 0);
  for (const duration of durations) {
    const bucket = DURATION_BOUNDS_MS.filter((bound) => bound < duration).length;
    durationCounts[bucket] = (durationCounts[bucket] ?? 0) + 1;
  }
  return {
    upChecks: countOf('UP'),
    downChecks: countOf('DOWN'),
    inconclusiveChecks: countOf('inconclusive'),
    durationCounts,
    durationSumMs: durations.reduce((sum, duration) => sum + duration, 0),
  };
}

const NO_RESPONSE = { statusCode: null, errorReason: 'TIMEOUT', errorDetail: 'no response' } as const;
const LATENCIES = [0, 1, 50, 51, 100, 2_500, 2_501, 10_000, 10_001, 60_000];

/** A result of any kind, by its number. */
function checkNumber(index: number, monitorId: string, revision: number): CheckRecord {
  const fields = {
    region: index % 17 === 0 ? 'removed' : (REGIONS[Math.floor(index / 4) % 2] ?? ''),
    revision: index % 5 === 0 ? 1 : revision,
    latencyMs: LATENCIES[index % LATENCIES.length] ?? 0,
    ...(index % 13 === 0 &&
      ({ urlOverride: 'https://other.example/', source: 'trigger', slot: null } as const)),
  };
  if (index % 7 === 0) return failureOf(monitorId, { ...fields, ...NO_RESPONSE, network: 'isolated' });
  if (index % 3 === 0) return failureOf(monitorId, { ...fields, ...(index % 2 === 0 && NO_RESPONSE) });
  return checkOf(monitorId, fields);
}

/** Records checks in batches until none is busy. */
async function recordAll(checks: readonly CheckRecord[]): Promise<void> {
  for (let left = [...checks]; left.length > 0;) {
    const outcomes = await recordChecks(context.db, left);
    left = left.filter((_, index) => outcomes[index]?.kind === 'busy');
  }
}

test('the counters of a region equal its events, whatever their results, with several checkers at once', async () => {
  const monitors = await Promise.all(
    Array.from({ length: 4 }, () => makeMonitor(context, { regions: REGIONS, failureThreshold: 2 })),
  );
  const actor = systemActor(context.accountId);
  for (const { id } of monitors) await updateMonitor(context, actor, id, { timeout: 7 }, 'default');
  const checks = Array.from({ length: 400 }, (_, index) =>
    checkNumber(index, monitors[index % monitors.length]?.id ?? '', 2),
  );
  const writers = [0, 1, 2].map((writer) =>
    recordAll(checks.filter((_, index) => Math.floor(index / 40) % 3 === writer)),
  );
  await Promise.all([...writers, recordAll(checks.slice(0, 40))]);
  for (const { id } of monitors) {
    const metrics = await metricsOf(id);
    expect(metrics?.regions.map(({ region }) => region)).toEqual(REGIONS);
    for (const { region, lastCheckedAt: _, ...counters } of metrics?.regions ?? []) {
      expect(counters).toEqual(await countEvents(id, region));
      expect(Object.values(counters).flat()).not.toContain(Number.NaN);
      expect(Math.min(counters.upChecks, counters.downChecks, counters.inconclusiveChecks)).toBeGreaterThan(
        0,
      );
    }
  }
});

test('the counters survive the events, a change of the monitor and its other regions', async () => {
  const { id } = await makeMonitor(context, { regions: REGIONS });
  await recordAll([checkOf(id, { region: 'eu' }), failureOf(id, { region: 'eu' })]);
  await context.db.execute(sql`delete from events where monitor_id = ${id}`);
  const actor = systemActor(context.accountId);
  await updateMonitor(context, actor, id, { url: 'https://moved.example', interval: 30 }, 'default');
  await updateMonitor(context, actor, id, { regions: ['eu'] }, 'default');
  await recordAll([checkOf(id, { region: 'eu' })]);
  expect((await metricsOf(id))?.regions).toMatchObject([{ region: 'eu', upChecks: 2, downChecks: 1 }]);
});

test('a region that is removed and added again starts at 0', async () => {
  const { id } = await makeMonitor(context, { regions: REGIONS });
  await recordAll([checkOf(id, { region: 'eu' })]);
  const actor = systemActor(context.accountId);
  await updateMonitor(context, actor, id, { regions: ['us'] }, 'default');
  await updateMonitor(context, actor, id, { regions: REGIONS }, 'default');
  expect((await metricsOf(id))?.regions).toMatchObject([
    { upChecks: 0, lastCheckedAt: null },
    { upChecks: 0 },
  ]);
});

test('a triggered check counts once, however often it is recorded', async () => {
  const { id } = await makeMonitor(context);
  const monitor = await findMonitorRow(context.db, context.accountId, id);
  const { id: triggerId } = await createTrigger(context.db, monitor, null, 60_000);
  const triggered = checkOf(id, { triggerId, slot: null, source: 'trigger' });
  await recordAll([triggered]);
  await recordAll([{ ...triggered }]);
  expect((await metricsOf(id))?.regions).toMatchObject([{ upChecks: 1 }]);
});

test('every incident counts, also after it is deleted', async () => {
  const { id } = await makeMonitor(context);
  await recordAll([failureOf(id), failureOf(id)]);
  await recordAll([checkOf(id)]);
  await recordAll([failureOf(id)]);
  await context.db.execute(sql`delete from incidents where monitor_id = ${id}`);
  expect(await metricsOf(id)).toMatchObject({ status: 'DOWN', incidents: 2 });
});

test('the earliest certificate of all regions counts', async () => {
  const { id } = await makeMonitor(context, { regions: REGIONS });
  const [later, earlier] = [new Date('2030-01-01T00:00:00Z'), new Date('2029-01-01T00:00:00Z')];
  await recordAll([checkOf(id, { region: 'eu', certificateExpiresAt: later })]);
  expect(await metricsOf(id)).toMatchObject({ certificateExpiresAt: later.getTime() });
  await recordAll([checkOf(id, { region: 'us', certificateExpiresAt: earlier })]);
  expect(await metricsOf(id)).toMatchObject({ certificateExpiresAt: earlier.getTime() });
});

test('only the monitors of the account and source are read, each once, without deleted ones', async () => {
  const [other] = await context.db.insert(accounts).values({ name: 'Other' }).returning();
  await makeMonitor({ ...context, accountId: other?.id ?? '' }, { source: 'many' });
  const { id: one } = await makeMonitor(context, { source: 'many', labels: { app: 'shop' } });
  // More than a page.
  const columns = sql.raw(
    'account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold, regions, source, labels',
  );
  await context.db.execute(sql`
    with added as (
      insert into monitors (id, ${columns})
      select gen_random_uuid(), ${columns} from monitors, generate_series(1, 519) where id = ${one} returning id)
    insert into monitor_regions (monitor_id, region) select id, 'default' from added`);
  await makeMonitor(context, { source: 'few' });
  // All in one millisecond: the order of their ids decides.
  await context.db.execute(
    sql`update monitors set created_at = '2026-01-01T00:00:00Z' where source = 'many'`,
  );
  const ids = (await readMetrics('many')).map(({ id }) => id).toSorted();
  expect(new Set(ids).size).toBe(520);
  const [deleted = ''] = ids.splice(249, 1);
  await deleteMonitor(context.db, systemActor(context.accountId), deleted, null);
  const found = await readMetrics('many');
  expect(found.map(({ id }) => id)).toEqual(ids);
  expect(found[0]).toMatchObject({ source: 'many', labels: { app: 'shop' } });
});

test.each([
  [0, 0],
  [50, 0],
  [51, 1],
  [10_000, 6],
  [10_001, 7],
])('%i ms belong to bucket %i', (duration, bucket) => {
  expect(durationBucketOf(duration)).toBe(bucket);
});
