import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import type {
  AvailabilityFigures,
  AvailabilityQuery,
  AvailabilityReport,
  AvailabilityRow,
} from '@tocsin/contracts/reports/availability';
import { addTimes, type AvailabilityTimes, type Period, uptimeOf } from '@tocsin/core/stats/availability';
import { passRateOf } from '@tocsin/core/stats/check-counts';
import { asc, sql } from 'drizzle-orm';
import { z } from 'zod';
import { readTotals } from '../check-rollups/count-checks.ts';
import { type Database, type Queryable, type Transaction, readSnapshot } from '../database/open.ts';
import { clockNow, epochMs, queryOne } from '../database/sql.ts';
import { holdPartitions } from '../events/pack-events.ts';
import { readIdPages } from '../monitors/id-pages.ts';
import { isListed } from '../monitors/list-monitors.ts';
import { monitors } from '../monitors/table.ts';
import { measureMonitors } from './monitor-histories.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Monitor days of a slice, unless one monitor has more. Measuring it does not delay other requests. */
const SLICE_DAYS = 50_000;

export interface ReportOptions {
  /** Runs each slice of the report. Null ends the report. */
  readonly runSlice?: <Result>(slice: () => Promise<Result>) => Promise<Result | null>;
  readonly sliceDays?: number;
  readonly maxMonitorDays?: number;
}

/**
 * Measures availability (docs/concepts/availability.md), each slice of monitors from one snapshot. Null if `runSlice` ended the report.
 * @throws AppError validation_failed if the period begins in the future or too long ago, or the report is too large
 */
export async function getAvailabilityReport(
  db: Database,
  accountId: string,
  query: AvailabilityQuery,
  options: ReportOptions = {},
): Promise<AvailabilityReport | null> {
  const { runSlice = (slice) => slice() } = options;
  const selection = await runSlice(() => select(db, accountId, query, options));
  if (selection === null) return null;
  const measured: Measured[] = [];
  for (const page of selection.pages) {
    const slice = await runSlice(() => measureSlice(db, page, selection.period, query));
    if (slice === null) return null;
    measured.push(...slice);
  }
  return runSlice(() => Promise.resolve(toReport(measured, selection.period, query)));
}

interface Selection {
  readonly period: Period;
  /** See `readIdPages`. */
  readonly pages: readonly string[];
}

async function select(
  db: Database,
  accountId: string,
  query: AvailabilityQuery,
  { sliceDays = SLICE_DAYS, maxMonitorDays }: ReportOptions,
): Promise<Selection> {
  const period = boundedPeriod(query, await readReportClock(db));
  const days = Math.ceil((period.to - period.from) / DAY_MS);
  const { count, pages } = await readIdPages(db, {
    where: isListed(accountId, { labels: query.selector }),
    // Roll-ups are written in this order, so the rows of a slice lie side by side.
    order: sql`id`,
    size: sql.raw(String(days)),
    pageSize: sliceDays,
  });
  refuseTooLarge(count, days, maxMonitorDays);
  return { period, pages };
}

const clockRow = z.object({
  now: z.number(),
  oldest: z.number(),
  rolledUntil: z.number().nullable(),
  summedUntil: z.number().nullable(),
});
type ReportClock = z.output<typeof clockRow>;

function readReportClock(db: Queryable): Promise<ReportClock> {
  return queryOne(db, clockRow)`
    select ${epochMs(clockNow)} as now, ${epochMs(sql`now() - interval '13 months'`)} as oldest,
      (select ${epochMs(sql`rolled_until`)} from check_rollup_state) as rolled_until,
      (select ${epochMs(sql`summed_until`)} from check_rollup_state) as summed_until`;
}

function boundedPeriod({ from, to }: AvailabilityQuery, { now, oldest }: ReportClock): Period {
  if (from.getTime() >= now) throw invalid('from', 'must be in the past');
  if (from.getTime() < oldest)
    throw invalid('from', 'must be at most 13 months ago: older data has been deleted');
  return { from: from.getTime(), to: Math.min(to.getTime(), now) };
}

function refuseTooLarge(count: number, days: number, max: number = LIMITS.reportMonitorDays): void {
  if (count * days <= max) return;
  throw invalid(
    'from',
    `is too early: with ${count} monitors selected, a report may cover at most ${Math.floor(max / count)} days, not ${days}. Choose a shorter period or fewer monitors`,
  );
}

function invalid(path: string, message: string): AppError {
  return new AppError('validation_failed', `The field ${path} ${message}.`, { errors: [{ path, message }] });
}

interface SelectedMonitor {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  /** Group of the report, which is the monitor's id or the value of the grouping label. */
  readonly group: string | null;
}

async function selectMonitors(
  tx: Transaction,
  page: string,
  { groupBy }: AvailabilityQuery,
): Promise<SelectedMonitor[]> {
  const { id, name, createdAt, labels } = monitors;
  const rows = await tx
    .select({ id, name, createdAt, labels })
    .from(monitors)
    .where(sql`id = any(${`{${page}}`}::uuid[])`)
    .orderBy(asc(id));
  return rows.map(({ labels: own, ...row }) => {
    const value = Object.hasOwn(own, groupBy) ? own[groupBy] : undefined;
    return Object.assign(row, { group: groupBy === 'monitor' ? row.id : (value ?? null) });
  });
}

interface Measured {
  readonly monitor: SelectedMonitor;
  readonly times: AvailabilityTimes;
  readonly checks: number;
  readonly failures: number;
  readonly gaps: number;
}

function measureSlice(
  db: Database,
  page: string,
  period: Period,
  query: AvailabilityQuery,
): Promise<Measured[]> {
  return readSnapshot(db, async (tx) => {
    await holdPartitions(tx);
    const { now, rolledUntil, summedUntil } = await readReportClock(tx);
    const selected = await selectMonitors(tx, page, query);
    const measured = await measureMonitors(tx, selected, { ...period, now }, query.maintenance);
    const [from, to] = [period.from, period.to].map((time) => Math.ceil(time / HOUR_MS) * HOUR_MS) as [
      number,
      number,
    ];
    const ids = selected.map(({ id }) => id);
    const totals = await readTotals(tx, ids, {
      from,
      to,
      now,
      rolledUntil: rolledUntil ?? from,
      summedUntil,
    });
    const totalOf = new Map(totals.map((total) => [total.monitorId, total]));
    return measured.map(({ monitor, times }) => {
      const { checks = 0, failures = 0, gaps = 0 } = totalOf.get(monitor.id) ?? {};
      return { monitor, times, checks, failures, gaps };
    });
  });
}

function toReport(
  measured: readonly Measured[],
  period: Period,
  { groupBy, maintenance }: AvailabilityQuery,
): AvailabilityReport {
  const groups = new Map<string | null, Measured[]>();
  for (const one of measured) {
    const group = groups.get(one.monitor.group);
    if (group === undefined) groups.set(one.monitor.group, [one]);
    else group.push(one);
  }
  const rows = [...groups].map(([group, members]): [key: string, AvailabilityRow] => {
    const { id = null, name = group } = (groupBy === 'monitor' && members[0]?.monitor) || {};
    return [`${name ?? ''}\n${id ?? ''}`, { monitorId: id, name, ...figuresOf(members, period) }];
  });
  return {
    from: new Date(period.from).toISOString(),
    to: new Date(period.to).toISOString(),
    groupBy,
    maintenance,
    rows: rows.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row),
    total: figuresOf(measured, period),
  };
}

function figuresOf(members: readonly Measured[], { from, to }: Period): AvailabilityFigures {
  const times = addTimes(members.map((one) => one.times));
  const sum = (key: 'checks' | 'failures' | 'gaps'): number =>
    members.reduce((total, one) => total + one[key], 0);
  const [checks, failures] = [sum('checks'), sum('failures')];
  const possibleMs = members.length * (to - from);
  return {
    monitors: members.length,
    uptime: uptimeOf(times),
    measured: possibleMs === 0 ? 0 : times.observedMs / possibleMs,
    downtimeSeconds: times.downtimeMs / 1_000,
    maintenanceSeconds: times.maintenanceMs / 1_000,
    incidents: times.incidents,
    longestIncidentSeconds: times.longestIncidentMs / 1_000,
    mttrSeconds: times.incidents === 0 ? null : times.downtimeMs / 1_000 / times.incidents,
    passRate: passRateOf({ checks, failures }),
    checks,
    failures,
    gaps: sum('gaps'),
  };
}
