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
