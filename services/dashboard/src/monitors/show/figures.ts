import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import type { StatsFigures, StatsWindow } from '@tocsin/contracts/monitors/stats';

/** The windows of statistics, as a person says them. */
export const WINDOW_NAMES: Record<StatsWindow, string> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
};
export const WINDOWS = ['24h', '7d', '30d', '90d'] as const satisfies readonly StatsWindow[];

const COUNT = new Intl.NumberFormat('en');
const DAY_MS = 86_400_000;

export function formatCount(count: number): string {
  return COUNT.format(count);
}

/** As `99.987 %`. Cut, never rounded up: 100 % means that no check failed. @param uptime from 0 to 1 */
export function formatUptime(uptime: number): string {
  if (uptime === 1) return '100 %';
  // Adding a little undoes what floating point took: 0.57 × 100,000 is 56,999.99….
  const thousandths = Math.min(99_999, Math.floor(uptime * 100_000 + 1e-6));
  return `${(thousandths / 1_000).toFixed(3).replace(/0$/, '')} %`;
}

/** As `2,880 checks, 3 failed, 1 gap`; what is zero is left out, but for the checks. */
export function describeChecks({ checks, failures, gaps }: StatsFigures): string {
  const parts = [`${formatCount(checks)} ${checks === 1 ? 'check' : 'checks'}`];
  if (failures > 0) parts.push(`${formatCount(failures)} failed`);
  if (gaps > 0) parts.push(`${formatCount(gaps)} ${gaps === 1 ? 'gap' : 'gaps'}`);
  return parts.join(', ');
}

type CertificateState = 'fine' | 'soon' | 'critical' | 'expired';

/** A certificate's end, as seen at `nowMs`. */
interface CertificateExpiry {
  readonly expiresAt: string;
  /** Whole days left; negative once it has expired. */
  readonly daysLeft: number;
  readonly state: CertificateState;
}

const SOON_DAYS = 30;
const CRITICAL_DAYS = 7;

/** The first certificate of all regions to expire; null where none is known. */
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

/** As `3 days left`, `less than a day left`, `expired`. */
export function describeExpiry({ daysLeft, state }: CertificateExpiry): string {
  if (state === 'expired') return 'expired';
  if (daysLeft === 0) return 'less than a day left';
  return `${formatCount(daysLeft)} ${daysLeft === 1 ? 'day' : 'days'} left`;
}

export interface RegionRow {
  readonly region: string;
  /** Null where it had neither checks nor gaps in the window. */
  readonly figures: StatsFigures | null;
  /** Null where it checks the monitor no longer, or nothing is known. */
  readonly now: MonitorRegion | null;
}

/** One row for each region that checks the monitor or did within the window, by name. */
export function joinRegions(
  figures: readonly (StatsFigures & { readonly region: string })[],
  now: readonly MonitorRegion[],
): RegionRow[] {
  const names = new Set([...figures, ...now].map(({ region }) => region));
  return [...names].sort().map((name) => ({
    region: name,
    figures: figures.find(({ region }) => region === name) ?? null,
    now: now.find(({ region }) => region === name) ?? null,
  }));
}

/** What to say of a region's view, as `Passing`. */
export function describeRegion({ status, failing, consecutiveFailures, hasSay }: MonitorRegion): string {
  if (status === null) return 'No result yet';
  if (!hasSay) return 'No fresh result';
  if (consecutiveFailures === 0) return 'Passing';
  if (consecutiveFailures === 1) return failing ? 'Failing' : 'Failed once';
  return failing ? `Failing, ${consecutiveFailures} in a row` : `Failed ${consecutiveFailures} in a row`;
}

/** The windows that hold a monitor and are not over: those that run first, then by when they begin. */
export function maintenanceOf(
  monitorId: string,
  windows: readonly ListedMaintenanceWindow[],
): ListedMaintenanceWindow[] {
  return windows
    .filter(({ monitorIds, state }) => state !== 'ended' && monitorIds.includes(monitorId))
    .sort((one, other) => startOf(one).localeCompare(startOf(other)));
}

/** When the last of the windows that run now ends: until then nothing alerts. Null where none runs. */
export function silentUntil(windows: readonly ListedMaintenanceWindow[]): string | null {
  const ends = windows.flatMap(({ currentOccurrence }) =>
    currentOccurrence === null ? [] : [currentOccurrence.endsAt],
  );
  return ends.sort().at(-1) ?? null;
}

function startOf({ currentOccurrence, nextOccurrence, startsAt }: ListedMaintenanceWindow): string {
  // An occurrence that runs has begun before anything that is to come.
  return (currentOccurrence ?? nextOccurrence)?.startsAt ?? startsAt;
}
