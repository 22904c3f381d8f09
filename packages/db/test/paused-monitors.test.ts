import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { availabilityQuerySchema, availabilityReportSchema } from '@tocsin/contracts/reports/availability';
import { slotOffsetMs, waveOf } from '@tocsin/core/schedule/slots';
import { readCounts } from '@tocsin/db/check-rollups/count-checks';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { listIncidents } from '@tocsin/db/incidents/read-incidents';
import { readMonitorMetrics } from '@tocsin/db/monitor-regions/read-metrics';
import { watchRegions } from '@tocsin/db/monitor-regions/read-regions';
import { alignSpans } from '@tocsin/db/monitor-regions/schedule-spans';
import { findSchedules, listWaveMembers, listWaves } from '@tocsin/db/monitor-regions/schedules';
import { editMonitors, listCheckable } from '@tocsin/db/monitors/bulk-writes';
import { readOverview } from '@tocsin/db/monitors/read-overview';
import { listMonitorsOfRegion } from '@tocsin/db/regions/isolations';
import { getAvailabilityReport } from '@tocsin/db/reports/availability-report';
import { sql } from 'drizzle-orm';
import { checkOf, editMonitor, failureOf, makeMonitor, openTestContext } from './harness.ts';
import { begin, changesOf, end, makeWindow, rowOf } from './maintenance-harness.ts';

const context = await openTestContext();
const { db, accountId } = context;
afterAll(() => context.close());

const HOUR_MS = 3_600_000;
const INTERVAL_MS = 60_000;

beforeEach(() =>
  db.execute(
    sql`truncate monitors, maintenance_windows, incidents, silences, status_changes, events, audit_log cascade`,
  ),
);

const pause = (id: string): Promise<unknown> => editMonitor(context, id, { enabled: false });
const resume = (id: string): Promise<unknown> => editMonitor(context, id, { enabled: true });

/** Makes a monitor that is down since a while ago. */
async function makeDown(fields: Record<string, unknown> = {}): Promise<string> {
  const { id } = await makeMonitor(context, fields);
  await recordChecks(db, [checkOf(id)]);
  await recordChecks(db, [failureOf(id)]);
  return id;
}

/** Moves everything that has happened to a monitor into the past. */
async function age(id: string, hours: number): Promise<void> {
  const by = sql`make_interval(hours => ${hours}::int)`;
  await db.execute(sql`update monitors set created_at = created_at - ${by}, updated_at = updated_at - ${by},
    last_checked_at = last_checked_at - ${by}, status_since = status_since - ${by} where id = ${id}`);
  await db.execute(
    sql`update schedule_spans set starts_at = starts_at - ${by}, ends_at = ends_at - ${by} where monitor_id = ${id}`,
  );
  await db.execute(
    sql`update incidents set opened_at = opened_at - ${by}, resolved_at = resolved_at - ${by} where monitor_id = ${id}`,
  );
}

const countOf = async (table: string): Promise<number> =>
  (await db.execute(sql.raw(`select from ${table}`))).rowCount ?? 0;

test('a paused monitor is in no wave, no audit restores it, and resuming schedules it again', async () => {
  const { id } = await makeMonitor(context);
  const wave = waveOf(id, 60);
  const scheduled = async () => {
    await alignSpans(db);
    const [members = []] = await listWaveMembers(db, 'default', [wave]);
    const [schedule] = await findSchedules(db, 'default', [id]);
    return [(await listWaves(db)).size, members.length, schedule?.enabled, schedule?.firstSlot !== null];
  };
  expect(await scheduled()).toEqual([1, 1, true, true]);
  await pause(id);
  expect(await scheduled()).toEqual([0, 0, false, false]);
  await resume(id);
  expect(await scheduled()).toEqual([1, 1, true, true]);
  const { id: created } = await makeMonitor(context, { enabled: false });
  expect(await findSchedules(db, 'default', [created])).toMatchObject([{ enabled: false, firstSlot: null }]);
  expect((await listWaves(db)).get('default')).toEqual([wave]);
});

test('nobody expects checks of a paused monitor', async () => {
  const [paused, other] = [await makeDown(), await makeDown()];
  await pause(paused);
  const ids = [paused, other];
  const checkable = await listCheckable(db, accountId, ids);
  const rechecked = await listMonitorsOfRegion(db, { accountId, region: 'default' });
  expect([checkable, rechecked].map((list) => list.map(({ monitorId }) => monitorId))).toEqual([
    [other],
    [other],
  ]);
  await db.execute(
    sql`update monitor_regions set last_checked_at = now() - interval '1 day', since = now() - interval '1 day'`,
  );
  expect((await watchRegions(db, 10)).get('default')).toEqual({ monitors: 1, overdue: 1 });
  const metrics: string[] = [];
  for await (const page of readMonitorMetrics(db, accountId, { withLabels: false }))
    metrics.push(...page.map(({ id }) => id));
  expect(metrics).toEqual([other]);
  const { monitors } = await readOverview(db, accountId);
  expect(new Map(monitors.map(({ id, enabled, failing }) => [id, [enabled, failing]]))).toEqual(
    new Map([
      [paused, [false, false]],
      [other, [true, true]],
    ]),
  );
});

describe('the status of a paused monitor', () => {
  test('stays, with its open incident, whatever a trigger finds', async () => {
    const id = await makeDown();
    await pause(id);
    const before = await rowOf(context, id);
    await recordChecks(db, [checkOf(id, { source: 'trigger', slot: null, revision: 2 })]);
    await recordChecks(db, [failureOf(id, { revision: 2 })]);
    const { status, lastCheckedAt } = await rowOf(context, id);
    expect([status, lastCheckedAt]).toEqual(['DOWN', before.lastCheckedAt]);
    expect(await changesOf(context, id)).toHaveLength(2);
    expect([await countOf('incidents where resolved_at is null'), await countOf('events')]).toEqual([1, 4]);
    // A lower threshold would take a running monitor down.
    const { id: up } = await makeMonitor(context, { failureThreshold: 2 });
    await recordChecks(db, [checkOf(up)]);
    await recordChecks(db, [failureOf(up)]);
    await editMonitor(context, up, { enabled: false, failureThreshold: 1 });
    expect((await rowOf(context, up)).status).toBe('UP');
    await resume(up);
    await recordChecks(db, [failureOf(up, { revision: 3 })]);
    expect((await rowOf(context, up)).status).toBe('DOWN');
  });

  test('does not follow maintenance until it is resumed', async () => {
    const [outside, inside] = [await makeDown(), await makeDown()];
    await pause(outside);
    const window = await makeWindow(context, [outside, inside]);
    await begin(context, window);
    const statuses = async () => [
      (await rowOf(context, outside)).status,
      (await rowOf(context, inside)).status,
    ];
    expect(await statuses()).toEqual(['DOWN', 'MAINTENANCE']);
    await pause(inside);
    await end(context, window);
    expect(await statuses()).toEqual(['DOWN', 'MAINTENANCE']);
    await resume(inside);
    await end(context, window);
    expect(await statuses()).toEqual(['DOWN', 'DOWN']);
  });
});

describe('a pause', () => {
  test('has no gaps, even if it keeps the last check from running, and the first check after it follows none', async () => {
    const { id } = await makeMonitor(context);
    const offset = slotOffsetMs(id, INTERVAL_MS);
    await age(id, 3);
    const now = Date.now();
    const lastSlot = now - ((((now - offset) % INTERVAL_MS) + INTERVAL_MS) % INTERVAL_MS);
    const gaps = async (): Promise<number> => {
      const from = Math.floor(now / HOUR_MS) * HOUR_MS - HOUR_MS;
      const range = { monitorId: id, from, to: from + 2 * HOUR_MS, bucketMs: HOUR_MS, rolledUntil: from };
      const counts = await db.transaction((tx) => readCounts(tx, { ...range, now: now + 20 * INTERVAL_MS }));
      return counts.reduce((sum, one) => sum + one.gaps, 0);
    };
    const running = await gaps();
    await pause(id);
    const { rows } = await db.execute<{ at: number }>(
      sql`select extract(epoch from ends_at)::float8 * 1000 as at from schedule_spans`,
    );
    expect(Math.round(rows[0]?.at ?? 0)).toBe(lastSlot);
    expect(await gaps()).toBeLessThan(running);
    await resume(id);
    const [outcome] = await recordChecks(db, [
      checkOf(id, { revision: 3, slot: lastSlot + 60 * INTERVAL_MS }),
    ]);
    expect(outcome).toMatchObject({ kind: 'recorded', gap: null });
  });

  test('does not count in availability or in the duration of an incident', async () => {
    const id = await makeDown();
    await age(id, 6);
    await pause(id);
    await db.execute(sql`update monitor_regions set recent_slots = array[9e15::bigint]`);
    // The monitor was down for six hours, then paused for three.
    await age(id, 3);
    await resume(id);
    await recordChecks(db, [failureOf(id, { revision: 3 })]);
    const query = availabilityQuerySchema.parse({
      from: new Date(Date.now() - 20 * HOUR_MS).toISOString(),
      to: new Date(Date.now() + 1_000).toISOString(),
    });
    await db.execute(sql`truncate silences`);
    const { total } = availabilityReportSchema.parse(await getAvailabilityReport(db, accountId, query, {}));
    const hours = (seconds: number | null | undefined): number => Math.round((seconds ?? 0) / 3_600);
    expect([hours(total.downtimeSeconds), hours(total.longestIncidentSeconds), total.uptime]).toEqual([
      6,
      6,
      expect.closeTo(0, 2),
    ]);
    const [incident] = await listIncidents(db, accountId, { limit: 1 });
    expect(hours(incident?.durationSeconds)).toBe(6);
  });
});

test('several monitors are paused at once, repeatedly, and the audit log says so', async () => {
  const ids = [await makeDown(), await makeDown()];
  const edit = (enabled: boolean) => editMonitors(context, context.actor, ids, { enabled }, 'default');
  const { monitors, schedules } = await edit(false);
  expect(monitors.map(({ enabled }) => enabled)).toEqual([false, false]);
  expect(schedules).toHaveLength(2);
  expect((await edit(false)).schedules).toEqual([]);
  const { rows } = await db.execute(sql`select changes from audit_log where action = 'monitor.updated'`);
  const change = { changes: [{ field: 'enabled', from: true, to: false }] };
  expect(rows).toEqual([change, change]);
  expect(await countOf('schedule_spans where ends_at is null')).toBe(0);
});
