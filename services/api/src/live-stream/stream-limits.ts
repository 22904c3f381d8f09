import { STREAM_HEARTBEAT_SECONDS } from '@tocsin/contracts/limits';

/** Bounds of live streams. Tests set tighter ones. */
export interface StreamLimits {
  /** Interval of the queries. */
  readonly pollMs: number;
  /** Interval of the heartbeats and of the checks of the session. */
  readonly heartbeatMs: number;
  readonly perUser: number;
  readonly perProcess: number;
  /** How much may wait for a client before its connection is cut. */
  readonly unsentBytes: number;
  /** Records read and sent at a time. */
  readonly pageRecords: number;
  /** How far back a replay reaches. */
  readonly replayMs: number;
  readonly replayRecords: number;
}

export const STREAM_LIMITS: StreamLimits = {
  pollMs: 1_000,
  heartbeatMs: STREAM_HEARTBEAT_SECONDS * 1_000,
  perUser: 20,
  perProcess: 500,
  unsentBytes: 1024 * 1024,
  pageRecords: 1_000,
  replayMs: 5 * 60_000,
  replayRecords: 5_000,
};

/** How long clients wait before they connect again. */
export const RETRY_MS = 2_000;
/** How long before its position a replay begins: longer than a commit takes to follow its stamp. */
export const REPLAY_OVERLAP_MS = 10_000;
