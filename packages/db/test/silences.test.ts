import { afterAll, beforeEach, expect, test } from '@jest/globals';
import type { MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import { availabilityQuerySchema } from '@tocsin/contracts/reports/availability';
import { getMonitorStats } from '@tocsin/db/check-rollups/monitor-stats';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { listIncidents } from '@tocsin/db/incidents/read-incidents';
import { getAvailabilityReport } from '@tocsin/db/reports/availability-report';
import { getMonitorStates } from '@tocsin/db/status-changes/read-states';
import { sql } from 'drizzle-orm';
import { checkOf, editMonitor, failureOf, makeMonitor, openTestContext } from './harness.ts';

const context = await openTestContext();
const { db, accountId } = context;
afterAll(() => context.close());

const MINUTE_MS = 60_000;

beforeEach(() => db.execute(sql`truncate monitors, incidents, silences, status_changes, events cascade`));

/** Creates a monitor that is two days old. @param seconds age of its last result, or null without one */
async function checkedAgo(seconds: number | null, fields: Record<string, unknown> = {}): Promise<string> {
  const { id } = await makeMonitor(context, fields);
  const old = sql`date_trunc('milliseconds', now()) - interval '2 days'`;
  const last = sql`date_trunc('milliseconds', now()) - make_interval(secs => ${seconds}::int)`;
  await db.execute(
    sql`update monitors set created_at = ${old}, updated_at = ${old}, last_checked_at = ${last} where id = ${id}`,
  );
  await db.execute(sql`update schedule_spans set starts_at = ${old} where monitor_id = ${id}`);
  return id;
}

// The last number is how many seconds after the last result, or else the creation, the silence begins.
test.each<[string, number | null, Record<string, unknown>, MonitorUpdate, number | undefined]>([
  ['one missed check', 130, {}, {}, 60],
  ['a result that is a little late', 70, {}, {}, undefined],
  ['a timeout above the interval', 35, { interval: 10, timeout: 30 }, {}, undefined],
  ['several missed checks', 30, { interval: 5, timeout: 2 }, {}, 5],
  ['an interval that has just become short', 18_000, { interval: 86_400 }, { interval: 60 }, undefined],
  ['an interval that became long after missed checks', 1_800, {}, { interval: 3_600 }, 60],
  ['no result since the creation', null, { interval: 86_400 }, {}, 0],
])('after %s', async (_name, ago, fields, edit, expected) => {
  const id = await checkedAgo(ago, fields);
  await editMonitor(context, id, edit);
  await recordChecks(db, [failureOf(id, { revision: 2, network: 'isolated' })]);
  const base = sql`select coalesce(last_checked_at, created_at) as base from monitors`;
  const { rows: before } = await db.execute<{ base: string }>(base);
  await recordChecks(db, [checkOf(id, { revision: 2 })]);
  const { rows } = await db.execute(sql`
    select extract(epoch from starts_at - ${before[0]?.base}::timestamptz)::int as after,
      ends_at = (select last_checked_at from monitors) as ends
    from silences`);
  expect(rows).toEqual(expected === undefined ? [] : [{ after: expected, ends: true }]);
});

test('a failure that waited for proof of the network is in time', async () => {
  const id = await checkedAgo(50, { interval: 30, timeout: 10 });
  await recordChecks(db, [failureOf(id, { statusCode: null, errorReason: 'TIMEOUT' })]);
  expect((await db.execute(sql`select from silences`)).rowCount).toBe(0);
});

test('silences ahead of the clock are deleted when it is set back', async () => {
  const id = await checkedAgo(1_800);
  await recordChecks(db, [checkOf(id)]);
  await db.execute(sql`update silences set ends_at = ends_at + interval '2 days'`);
  await db.execute(sql`
    update monitors set last_checked_at = now() + interval '2 days', last_timestamp = now() + interval '2 days'`);
  await recordChecks(db, [checkOf(id)]);
  expect((await db.execute(sql`select from silences`)).rowCount).toBe(0);
});

test('page, report and incident agree on a monitor that was down when its checks stopped', async () => {
  const id = await checkedAgo(600);
  await db.execute(sql`
    insert into incidents (id, account_id, monitor_id, opened_at, region)
    values (gen_random_uuid(), ${accountId}, ${id}, now() - interval '40 min', 'default')`);
  await db.execute(sql`
    insert into status_changes (account_id, id, monitor_id, from_status, to_status, region, timestamp, webhook_events, channel_ids)
    values (${accountId}, gen_random_uuid(), ${id}, 'UP', 'DOWN', 'default', now() - interval '40 min', '[]', '{}')`);
  await db.execute(sql`update monitors set status = 'DOWN'`);
  const [from, to] = [60, 1].map((minutes) => new Date(Date.now() - minutes * MINUTE_MS)) as [Date, Date];
  const request = { query: { from, to }, retentionDays: 30 };
  const query = availabilityQuerySchema.parse({ from: from.toISOString(), to: to.toISOString() });
  const report = await getAvailabilityReport(db, accountId, query);
  const stats = await getMonitorStats(db, accountId, id, request);
  const states = await getMonitorStates(db, accountId, id, request);
  const [incident] = await listIncidents(db, accountId, { limit: 1 });
  // Of 59 minutes, 20 are up, 31 down, and the last 8 unknown.
  expect(stats.uptime).toBeCloseTo(20 / 51, 1);
  expect(stats.measured).toBeCloseTo(51 / 59, 1);
  expect(report?.total).toMatchObject({ uptime: stats.uptime, measured: stats.measured });
  expect(states.downSeconds).toBe(report?.total.downtimeSeconds);
  expect(states.periods.map(({ status }) => status)).toEqual(['UP', 'DOWN', null]);
  for (const seconds of [states.periods[1]?.downSeconds, incident?.durationSeconds])
    expect(Math.abs((seconds ?? 0) - states.downSeconds)).toBeLessThanOrEqual(1);
});
