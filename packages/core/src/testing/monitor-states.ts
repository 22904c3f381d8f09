import type { CheckVerdict, MonitorState, RegionState } from '../status/apply-check.ts';

export const NOW = 1_800_000_000_000;

/** A single result takes it DOWN, and another one recovers it. */
export const MONITOR: MonitorState = {
  status: 'UP',
  probeRevision: 1,
  enabled: true,
  failureThreshold: 1,
  recoveryThreshold: 1,
  intervalSeconds: 60,
  timeoutSeconds: 10,
};

/** A result of `MONITOR` counts for this long. */
export const FRESH_FOR_MS = (3 * 60 + 10) * 1_000;

/** A region that was just assigned and has no result. */
export const REGION: RegionState = {
  region: 'eu',
  consecutiveFailures: 0,
  recoveryPasses: null,
  lastResultAt: null,
  since: NOW,
  recentSlots: [],
  doubtful: false,
  lastLatencyMs: null,
  lastErrorReason: null,
  lastErrorDetail: null,
};

export const FAILED: CheckVerdict = {
  region: 'eu',
  revision: 1,
  slot: NOW,
  urlOverride: null,
  status: 'DOWN',
  latencyMs: 0,
  errorReason: 'CONNECTION_REFUSED',
  errorDetail: null,
  network: null,
};
export const PASSED: CheckVerdict = { ...FAILED, status: 'UP', latencyMs: 12, errorReason: null };
