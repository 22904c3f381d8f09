import { AppError } from '@tocsin/contracts/errors';
import { matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import { LIMITS } from '@tocsin/contracts/limits';
import type {
  AvailabilityFigures,
  AvailabilityQuery,
  AvailabilityReport,
  AvailabilityRow,
} from '@tocsin/contracts/reports/availability';
import { addTimes, type AvailabilityTimes, type Period, uptimeOf } from '@tocsin/core/stats/availability';
import { passRateOf } from '@tocsin/core/stats/check-counts';
import { asc, eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import { readTotals } from '../check-rollups/count-checks.ts';
import { type Database, type Transaction, readSnapshot } from '../database/open.ts';
import { clockNow, epochMs, queryOne } from '../database/sql.ts';
import { holdPartitions } from '../events/pack-events.ts';
import { monitors } from '../monitors/table.ts';
import { measureMonitors } from './monitor-histories.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Keeps each statement far below its timeout, even for a year in several regions. */
const MAX_BATCH_SIZE = 250;

export interface ReportOptions {
  /** Waits until the next slice of monitors may be measured, and returns a function to call afterwards. Null ends the report. */
  readonly takeTurn?: () => Promise<(() => void) | null>;
  readonly maxBatchSize?: number;
  readonly maxMonitorDays?: number;
}

/**
 * Measures availability (docs/concepts/availability.md), each slice of monitors from one snapshot. Null if `takeTurn` ended the report.
 * @throws AppError validation_failed if the period begins in the future or too long ago, or the report is too large
 */
export async function getAvailabilityReport(
  db: Database,
  accountId: string,
  query: AvailabilityQuery,
  options: ReportOptions = {},
): Promise<AvailabilityReport | null> {
  const { takeTurn = () => Promise.resolve(() => undefined), maxBatchSize = MAX_BATCH_SIZE } = options;
  const measured: Measured[] = [];
  let selection: Selection | undefined;
  for (let start = 0; start === 0 || start < (selection?.monitors.length ?? 0); start += maxBatchSize) {
    const release = await takeTurn();
    if (release === null) return null;
    await readSnapshot(db, async (tx) => {
      await holdPartitions(tx);
      const clock = await readReportClock(tx);
      selection ??= await select(tx, accountId, query, clock, options.maxMonitorDays);
      const slice = selection.monitors.slice(start, start + maxBatchSize);
      measured.push(...(await measureSlice(tx, slice, selection.period, query.maintenance, clock)));
    }).finally(release);
  }
  return selection === undefined ? null : toReport(measured, selection.period, query);
}

interface Selection {
  readonly period: Period;
  readonly monitors: readonly SelectedMonitor[];
}

async function select(
  tx: Transaction,
  accountId: string,
  query: AvailabilityQuery,
  clock: ReportClock,
  maxMonitorDays?: number,
): Promise<Selection> {
  const period = boundedPeriod(query, clock);
  const selected = await selectMonitors(tx, accountId, query);
  refuseTooLarge(selected.length, period, maxMonitorDays);
  return { period, monitors: selected };
}

const clockRow = z.object({ now: z.number(), oldest: z.number(), rolledUntil: z.number().nullable() });
type ReportClock = z.output<typeof clockRow>;

function readReportClock(tx: Transaction): Promise<ReportClock> {
  return queryOne(tx, clockRow)`
    select ${epochMs(clockNow)} as now, ${epochMs(sql`now() - interval '13 months'`)} as oldest,
      (select ${epochMs(sql`rolled_until`)} from check_rollup_state) as rolled_until`;
}

function boundedPeriod({ from, to }: AvailabilityQuery, { now, oldest }: ReportClock): Period {
  if (from.getTime() >= now) throw invalid('from', 'must be in the past');
  if (from.getTime() < oldest)
    throw invalid('from', 'must be at most 13 months ago: older data has been deleted');
  return { from: from.getTime(), to: Math.min(to.getTime(), now) };
}

function refuseTooLarge(count: number, { from, to }: Period, max: number = LIMITS.reportMonitorDays): void {
  const days = Math.ceil((to - from) / DAY_MS);
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
  accountId: string,
  { groupBy, selector }: AvailabilityQuery,
): Promise<SelectedMonitor[]> {
  const { id, name, createdAt, labels } = monitors;
  const rows = await tx
    .select({ id, name, createdAt, labels })
    .from(monitors)
    .where(eq(monitors.accountId, accountId))
    // Roll-ups are written in this order, so the rows of a slice lie side by side.
    .orderBy(asc(id));
  return rows
    .filter((row) => matchesSelector(selector, row.labels))
    .map(({ labels: own, ...row }) => {
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

async function measureSlice(
  tx: Transaction,
  slice: readonly SelectedMonitor[],
  period: Period,
  maintenance: AvailabilityQuery['maintenance'],
  { now, rolledUntil }: ReportClock,
): Promise<Measured[]> {
  const ids = slice.map(({ id }) => id);
  const measured = await measureMonitors(tx, slice, { ...period, now }, maintenance);
  const [from, to] = [period.from, period.to].map((time) => Math.ceil(time / HOUR_MS) * HOUR_MS) as [
    number,
    number,
  ];
  const totals = await readTotals(tx, ids, { from, to, now, rolledUntil: rolledUntil ?? from });
  const totalOf = new Map(totals.map((total) => [total.monitorId, total]));
  return measured.map(({ monitor, times }) => {
    const { checks = 0, failures = 0, gaps = 0 } = totalOf.get(monitor.id) ?? {};
    return { monitor, times, checks, failures, gaps };
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
  const rows = [...groups].map(([group, members]): AvailabilityRow => {
    const monitor = groupBy === 'monitor' ? members[0]?.monitor : undefined;
    return Object.assign(
      { monitorId: monitor?.id ?? null, name: monitor?.name ?? group },
      figuresOf(members, period),
    );
  });
  return {
    from: new Date(period.from).toISOString(),
    to: new Date(period.to).toISOString(),
    groupBy,
    maintenance,
    rows: rows.toSorted((one, other) => (sortKeyOf(one) < sortKeyOf(other) ? -1 : 1)),
    total: figuresOf(measured, period),
  };
}

function sortKeyOf({ name, monitorId }: AvailabilityRow): string {
  return `${name ?? ''}\n${monitorId ?? ''}`;
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
