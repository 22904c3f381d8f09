import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { StatsFigures } from '@tocsin/contracts/monitors/stats';
import { formatCount, formatLatency, formatNumber } from '../../components/format.ts';
import { isCovered } from '../../labels/coverage.ts';

const DAY_MS = 86_400_000;

/** Formats as `99.987%`. Rounds down, so that only 1 is 100.000%. @param share from 0 to 1 */
export function formatShare(share: number): string {
  // Corrects floating-point errors such as 0.57 × 100,000 = 56,999.99….
  const thousandths = Math.min(share === 1 ? 100_000 : 99_999, Math.floor(share * 100_000 + 1e-6));
  return `${(thousandths / 1_000).toFixed(3)}%`;
}

export const PERCENTILES = ['p50', 'p95', 'p99'] as const;

type Format = (figures: StatsFigures) => string | null;

const FORMATS: Readonly<Record<string, Format>> = {
  'Checks passed': ({ passRate }) => (passRate === null ? null : formatShare(passRate)),
  Checks: ({ checks }) => formatNumber(checks),
  Failed: ({ failures }) => formatNumber(failures),
  Inconclusive: ({ inconclusive }) => formatNumber(inconclusive),
  Missed: ({ gaps }) => formatNumber(gaps),
  ...Object.fromEntries(
    PERCENTILES.map((name): [string, Format] => [
      name,
      ({ latency }) => latency && formatLatency(latency[name]),
    ]),
  ),
};

/**
 * The columns of a table, with counts and latency percentiles. Inconclusive checks have a column only if there are any. Missing values are
 * dashes.
 */
export function figureColumns<Row>(
  rows: readonly Row[],
  figuresOf: (row: Row) => StatsFigures | null,
): Record<string, (row: Row) => string> {
  const hasInconclusive = rows.some((row) => (figuresOf(row)?.inconclusive ?? 0) > 0);
  return Object.fromEntries(
    Object.entries(FORMATS)
      .filter(([title]) => title !== 'Inconclusive' || hasInconclusive)
      .map(([title, format]) => [
        title,
        (row: Row) => {
          const figures = figuresOf(row);
          return (figures && format(figures)) ?? '–';
        },
      ]),
  );
}

type CheckCounts = Pick<StatsFigures, 'checks' | 'failures' | 'inconclusive' | 'gaps'>;

/** True if checks ran or should have run. */
export function hasChecks({ checks, inconclusive, gaps }: CheckCounts): boolean {
  return checks + inconclusive + gaps > 0;
}

/** Formats as `2,880 checks, 3 failed, 2 inconclusive, 1 missed`. Zero counts are omitted except for checks. */
export function describeChecks({ checks, failures, inconclusive, gaps }: CheckCounts): string {
  const parts = [formatCount(checks, 'check')];
  if (failures > 0) parts.push(`${formatNumber(failures)} failed`);
  if (inconclusive > 0) parts.push(`${formatNumber(inconclusive)} inconclusive`);
  if (gaps > 0) parts.push(`${formatNumber(gaps)} missed`);
  return parts.join(', ');
}

type CertificateState = 'fine' | 'soon' | 'critical' | 'expired';

interface CertificateExpiry {
  readonly expiresAt: string;
  /** Whole days. Negative after the certificate has expired. */
  readonly daysLeft: number;
  readonly state: CertificateState;
}

const SOON_DAYS = 30;
const CRITICAL_DAYS = 7;

/** Returns the certificate that expires first across regions, or null. */
export function soonestExpiry(
  regions: readonly { readonly certificateExpiresAt: string | null }[],
  nowMs: number,
): CertificateExpiry | null {
  const times = regions.flatMap(({ certificateExpiresAt: at }) => (at === null ? [] : [Date.parse(at)]));
  if (times.length === 0) return null;
  const soonest = Math.min(...times);
  const daysLeft = Math.floor((soonest - nowMs) / DAY_MS);
  return { expiresAt: new Date(soonest).toISOString(), daysLeft, state: expiryState(daysLeft) };
}

function expiryState(daysLeft: number): CertificateState {
  if (daysLeft < 0) return 'expired';
  if (daysLeft < CRITICAL_DAYS) return 'critical';
  return daysLeft < SOON_DAYS ? 'soon' : 'fine';
}

/** Formats as `3 days left`, `less than a day left` or `expired`. */
export function describeExpiry({ daysLeft, state }: CertificateExpiry): string {
  if (state === 'expired') return 'expired';
  if (daysLeft === 0) return 'less than a day left';
  return `${formatCount(daysLeft, 'day')} left`;
}

export interface RegionRow {
  readonly region: string;
  /** Null if there were no checks and no gaps in the window. */
  readonly figures: StatsFigures | null;
  /** Null if the region no longer checks the monitor or its state is unknown. */
  readonly current: MonitorRegion | null;
}

/** Rows for regions that check the monitor or did so within the window, sorted by name. */
export function joinRegions(
  figures: readonly (StatsFigures & { readonly region: string })[],
  current: readonly MonitorRegion[],
): RegionRow[] {
  const names = new Set([...figures, ...current].map(({ region }) => region));
  return [...names].sort().map((name) => ({
    region: name,
    figures: figures.find(({ region }) => region === name) ?? null,
    current: current.find(({ region }) => region === name) ?? null,
  }));
}

export function describeRegion({ status, failing, consecutiveFailures, eligible }: MonitorRegion): string {
  if (status === null) return 'No result yet';
  if (!eligible) return 'No recent result';
  if (consecutiveFailures === 0) return failing ? 'Recovering' : 'Passing';
  const failures = consecutiveFailures === 1 ? '1 failure' : `${consecutiveFailures} consecutive failures`;
  return failing ? `Failing, ${failures}` : failures;
}

/** Running and planned windows of a monitor, sorted by the start of the current or next occurrence. */
export function maintenanceOf(
  monitor: Pick<Monitor, 'id' | 'labels' | 'source'>,
  windows: readonly ListedMaintenanceWindow[],
): ListedMaintenanceWindow[] {
  return windows
    .filter((window) => window.state !== 'ended' && isCovered(window, monitor))
    .sort((one, other) => startOf(one).localeCompare(startOf(other)));
}

/** The end of the last running occurrence, until which no alerts are sent. Null if no occurrence is running. */
export function silentUntil(windows: readonly ListedMaintenanceWindow[]): string | null {
  const ends = windows.flatMap(({ currentOccurrence }) =>
    currentOccurrence === null ? [] : [currentOccurrence.endsAt],
  );
  return ends.sort().at(-1) ?? null;
}

function startOf({ currentOccurrence, nextOccurrence, startsAt }: ListedMaintenanceWindow): string {
  return (currentOccurrence ?? nextOccurrence)?.startsAt ?? startsAt;
}
