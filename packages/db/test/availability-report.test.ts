import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  availabilityQuerySchema,
  type AvailabilityReport,
  availabilityReportSchema,
} from '@tocsin/contracts/reports/availability';
import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { getAvailabilityReport, type ReportOptions } from '@tocsin/db/reports/availability-report';
import { sql } from 'drizzle-orm';
import { makeAccount } from './delivery-steps.ts';
import { checkOf, failureOf, makeMonitor, openTestContext } from './harness.ts';
import { begin, end, makeWindow } from './maintenance-harness.ts';
import {
  eventAt,
  HOUR_MS,
  insertEvents,
  monitorWithSpans,
  randomEvents,
  seeded,
  setWatermark,
} from './rollup-data.ts';

const context = await openTestContext();
const { db, accountId } = context;
afterAll(() => context.close());

const DAY_MS = 24 * HOUR_MS;

/** Beginning of a past period of ten days. */
let start: number;
beforeEach(async () => {
  start = Math.floor(Date.now() / DAY_MS) * DAY_MS - 30 * DAY_MS;
  await db.execute(sql`truncate monitors, incidents, status_changes, events, check_rollups cascade`);
  await db.execute(sql`delete from check_rollup_state`);
});

const iso = (time: number): string => new Date(time).toISOString();

interface Options extends ReportOptions {
  readonly from?: number;
  readonly to?: number;
  readonly groupBy?: string;
  readonly selector?: string;
  readonly maintenance?: string;
}

async function report({
  from = start,
  to = from + 10 * DAY_MS,
  ...rest
}: Options = {}): Promise<AvailabilityReport> {
  const query = availabilityQuerySchema.parse({ from: iso(from), to: iso(to), ...rest });
  return availabilityReportSchema.parse(await getAvailabilityReport(db, accountId, query, rest));
}

/** Makes a monitor that is older than the period and has one check in it. */
async function oldMonitor(fields: Record<string, unknown> = {}): Promise<string> {
  const id = await uncheckedMonitor(fields);
  await db.execute(sql`update monitors set last_checked_at = now() where id = ${id}`);
  await ensureEventPartitions(db, { now: start + 6 * DAY_MS });
  await insertEvents(context, [eventAt(id, start + 6 * DAY_MS)]);
  return id;
}

async function uncheckedMonitor(fields: Record<string, unknown> = {}): Promise<string> {
  const { id } = await makeMonitor(context, fields);
  await db.execute(sql`update monitors set created_at = ${iso(start - 90 * DAY_MS)} where id = ${id}`);
  return id;
}

/** Adds an incident between two days of the period. @param to null for an open incident */
async function addIncident(monitorId: string, from: number, to: number | null): Promise<void> {
  await db.execute(sql`
    insert into incidents (id, account_id, monitor_id, opened_at, resolved_at, region)
    values (${randomUUID()}, ${accountId}, ${monitorId}, ${iso(start + from * DAY_MS)},
      ${to === null ? null : iso(start + to * DAY_MS)}, 'default')`);
}

/** Adds maintenance that begins and ends on these days of the period, in turn. */
async function addMaintenance(monitorId: string, ...days: number[]): Promise<void> {
  for (const [index, day] of days.entries()) {
    const [from, to] = index % 2 === 0 ? ['UP', 'MAINTENANCE'] : ['MAINTENANCE', 'UP'];
    await db.execute(sql`
      insert into status_changes (id, account_id, monitor_id, from_status, to_status, region, timestamp, webhook_events, channel_ids)
      values (${randomUUID()}, ${accountId}, ${monitorId}, ${from}, ${to}, 'default',
        ${iso(start + day * DAY_MS)}, '[]', '{}')`);
  }
}

describe('the report of a period', () => {
  test('clips incidents and maintenance to the period', async () => {
    const id = await oldMonitor({ name: 'Shop' });
    await addIncident(id, -3, 1);
    await addIncident(id, 4, 4.5);
    await addIncident(id, 9.5, 12);
    await addIncident(id, 13, null);
    // The middle incident continues in maintenance, which ends with it.
    await addMaintenance(id, -9, -8, 4.25, 5, 9.75, 11);
    const figures = { monitors: 1, measured: 1, maintenanceSeconds: 86_400, checks: 1, passRate: 1 };
    expect((await report()).rows).toEqual([
      {
        ...figures,
        monitorId: id,
        name: 'Shop',
        uptime: 7.5 / 9,
        downtimeSeconds: 1.5 * 86_400,
        incidents: 3,
        longestIncidentSeconds: 86_400,
        mttrSeconds: 43_200,
        failures: 0,
        gaps: 0,
      },
    ]);
    const included = await report({ maintenance: 'included' });
    expect(included.rows).toMatchObject([
      { ...figures, uptime: 0.8, downtimeSeconds: 2 * 86_400, incidents: 3 },
    ]);
    const { monitorId, name, ...same } = included.rows[0] ?? {};
    expect([included.total, monitorId, name]).toEqual([same, id, 'Shop']);
  });

  test.each([
    ['throughout', [-5, 15], 10],
    ['still, since the middle', [5], 5],
    ['only afterwards', [11, 12], 0],
  ])('maintenance %s', async (_name, days, expected) => {
    const id = await oldMonitor();
    await addMaintenance(id, ...days);
    if (days.length === 1) await db.execute(sql`update monitors set status = 'MAINTENANCE' where id = ${id}`);
    const { total } = await report();
    expect(total.maintenanceSeconds).toBe(expected * 86_400);
    expect(total.uptime).toBe(expected === 10 ? null : 1);
  });

  test('begins with the creation of a monitor, and counts an open incident', async () => {
    const id = await oldMonitor();
    await db.execute(sql`update monitors set created_at = ${iso(start + 5 * DAY_MS)}`);
    await addIncident(id, 9, null);
    expect((await report()).rows).toMatchObject([{ measured: 0.5, uptime: 0.8, incidents: 1 }]);
  });

  test('has no data for a monitor that was never checked', async () => {
    await addIncident(await oldMonitor({ name: 'A' }), 0, 5);
    await uncheckedMonitor({ name: 'B' });
    const { rows, total } = await report();
    expect(rows).toMatchObject([
      { name: 'A', uptime: 0.5, measured: 1 },
      { name: 'B', uptime: null, measured: 0 },
    ]);
    expect(total).toMatchObject({ monitors: 2, uptime: 0.5, measured: 0.5 });
  });

  test('contains neither deleted monitors nor those of other accounts', async () => {
    const id = await oldMonitor({ name: 'Shop' });
    await addIncident(randomUUID(), 1, 2);
    const other = await makeAccount(context);
    const query = availabilityQuerySchema.parse({ from: iso(start), to: iso(start + DAY_MS) });
    const others = await getAvailabilityReport(db, other, query);
    expect(others).toMatchObject({ rows: [], total: { monitors: 0, uptime: null, measured: 0 } });
    const own = { rows: [{ monitorId: id, uptime: 1 }], total: { incidents: 0 } };
    expect(await report()).toMatchObject(own);
  });

  test('groups by the values of a label, and filters by labels, slice by slice', async () => {
    const ids = [];
    for (const labels of [{ app: 'shop' }, { app: 'shop', tier: 'web' }, { app: 'blog' }, {}])
      ids.push(await oldMonitor({ labels }));
    for (const [index, id] of ids.entries()) await addIncident(id, 0, index + 1);
    const { rows, total } = await report({ groupBy: 'app', sliceDays: 20 });
    expect(rows).toMatchObject([
      { name: null, monitorId: null, monitors: 1, downtimeSeconds: 4 * 86_400 },
      { name: 'blog', monitors: 1, downtimeSeconds: 3 * 86_400 },
      { name: 'shop', monitors: 2, longestIncidentSeconds: 2 * 86_400, uptime: 0.85 },
    ]);
    expect(total).toMatchObject({ monitors: 4, incidents: 4, uptime: 0.75 });
    expect(await report({ groupBy: 'app', selector: 'app,!tier' })).toMatchObject({
      rows: [{ name: 'blog' }, { name: 'shop', monitors: 1 }],
      total: { monitors: 2 },
    });
  });

  test('ends now, and counts everything that the services recorded until now', async () => {
    const { id } = await makeMonitor(context);
    for (const check of [checkOf(id), failureOf(id)]) await recordChecks(db, [check]);
    const windowId = await makeWindow(context, [id]);
    await begin(context, windowId);
    await end(context, windowId);
    await recordChecks(db, [checkOf(id)]);
    const to = Date.now() + DAY_MS;
    const excluded = await report({ to });
    const included = await report({ to, maintenance: 'included' });
    const { rows } = await db.execute<Record<string, number>>(sql`
      select extract(epoch from resolved_at - opened_at)::float8 as down,
        (select extract(epoch from max(timestamp) filter (where from_status = 'MAINTENANCE')
          - max(timestamp) filter (where to_status = 'MAINTENANCE'))::float8 from status_changes) as covered
      from incidents`);
    const { down = 0, covered = 0 } = rows[0] ?? {};
    expect(covered).toBeGreaterThan(0);
    expect(Date.parse(included.to)).toBeLessThan(to);
    const counted = { incidents: 1, maintenanceSeconds: covered, checks: 3, failures: 1, passRate: 2 / 3 };
    expect(included.total).toMatchObject({ ...counted, downtimeSeconds: down });
    expect(excluded.total).toMatchObject(counted);
    expect(excluded.total.downtimeSeconds).toBeCloseTo(down - covered, 6);
  });

  test('counts the checks of the hours that begin in it, wherever the rollups end', async () => {
    const from = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 6 * HOUR_MS;
    const spans = await monitorWithSpans(context, [
      { region: 'a', interval: 60, from: from - HOUR_MS, to: from + 3 * HOUR_MS },
      { region: 'b', interval: 300, from, to: from + 3 * HOUR_MS },
    ]);
    await insertEvents(context, randomEvents(spans, from - HOUR_MS, from + 4 * HOUR_MS, seeded(1)));
    const periods = [
      { from, to: from + 4 * HOUR_MS },
      { from: from + 1, to: from + 2 * HOUR_MS },
      { from, to: from + 1 },
      { from: from + HOUR_MS + 1, to: from + 2 * HOUR_MS },
    ];
    const read = () => Promise.all(periods.map(async (period) => (await report(period)).total));
    const live = await read();
    const countChecks = async (first: number, end: number): Promise<number | undefined> => {
      const { rows } = await db.execute<{ checks: number }>(sql`
        select count(*)::float8 as checks from events
        where url is null and not inconclusive and timestamp >= ${iso(from + first * HOUR_MS)}
          and timestamp < ${iso(from + end * HOUR_MS)}`);
      return rows[0]?.checks;
    };
    const expected = [await countChecks(0, 4), await countChecks(1, 2), await countChecks(0, 1), 0];
    expect(live.map(({ checks }) => checks)).toEqual(expected);
    expect(live[0]?.gaps).toBeGreaterThan(0);
    await setWatermark(context, from - HOUR_MS);
    for (let rolled = 0; rolled < 4; rolled += 1) {
      expect(await rollUpNextHour(db)).not.toBeNull();
      expect(await read()).toEqual(live);
    }
  });
});

test('a report of the future, of more than 13 months ago, or of too many monitors is refused', async () => {
  await oldMonitor();
  const now = Date.now();
  for (const options of [{ from: now + HOUR_MS }, { from: now - 400 * DAY_MS }, { maxMonitorDays: 9 }]) {
    const refusal = { code: 'validation_failed', errors: [{ path: 'from' }] };
    await expect(report(options)).rejects.toMatchObject(refusal);
  }
});

test('a report is null if it waits too long for its turn', async () => {
  await oldMonitor();
  const query = availabilityQuerySchema.parse({ from: iso(start), to: iso(start + DAY_MS) });
  expect(
    await getAvailabilityReport(db, accountId, query, { runSlice: () => Promise.resolve(null) }),
  ).toBeNull();
});
