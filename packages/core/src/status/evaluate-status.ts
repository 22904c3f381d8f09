/** What a monitor's status is judged by; times in seconds. */
export interface StatusRules {
  readonly failureThreshold: number;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
}

/** What one region last said of a monitor. Times are epoch milliseconds. */
export interface RegionVerdict {
  readonly consecutiveFailures: number;
  /** Null until the region has reported (since it was assigned, or since its streak was reset). */
  readonly lastResultAt: number | null;
  /** When the region was assigned or its streak was reset. */
  readonly since: number;
}

/**
 * The status that the regions' verdicts imply now, or null where the status stays as it is (design §4 "Region").
 *
 * A region has a say while its last result, or for one that has not reported its assignment, is younger than three
 * intervals plus the timeout. It is failing once its consecutive failures reach the threshold; not reported counts
 * as passing. DOWN needs a strict majority of the regions with a say. The status stays where nobody with a say has
 * reported: without a check there is nothing to judge by.
 */
export function evaluateStatus(
  rules: StatusRules,
  regions: readonly RegionVerdict[],
  now: number,
): 'UP' | 'DOWN' | null {
  const freshForMs = (3 * rules.intervalSeconds + rules.timeoutSeconds) * 1_000;
  const voters = regions.filter((region) => now - (region.lastResultAt ?? region.since) < freshForMs);
  if (!voters.some((region) => region.lastResultAt !== null)) return null;
  const failing = voters.filter((region) => region.consecutiveFailures >= rules.failureThreshold).length;
  return failing * 2 > voters.length ? 'DOWN' : 'UP';
}
