import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import type { RegionState } from './apply-check.ts';

/** The check that a status is blamed on, where no check brings it about just now. */
export interface DecidingCheck {
  readonly region: string;
  readonly latencyMs: number;
  readonly errorReason: ErrorReason | null;
}

/**
 * The last check of a failing region for DOWN, of a passing one for UP. Where no such region has reported: the first
 * region, with a latency of 0.
 */
export function decidingCheck(
  failureThreshold: number,
  regions: readonly RegionState[],
  status: 'UP' | 'DOWN',
): DecidingCheck {
  const latest = regions
    .filter((region) => region.lastResultAt !== null)
    .filter((region) => region.consecutiveFailures >= failureThreshold === (status === 'DOWN'))
    .toSorted((one, other) => (other.lastResultAt ?? 0) - (one.lastResultAt ?? 0))[0];
  return {
    region: latest?.region ?? regions[0]?.region ?? '',
    latencyMs: latest?.lastLatencyMs ?? 0,
    errorReason: latest?.lastErrorReason ?? null,
  };
}
