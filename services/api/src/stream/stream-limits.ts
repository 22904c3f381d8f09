import { STREAM_HEARTBEAT_SECONDS } from '@tocsin/contracts/stream-heartbeat';

/** The bounds of live streams; tests set closer ones. */
export interface StreamLimits {
  /** From one look at Postgres to the next. */
  readonly pollMs: number;
  /** From one sign of life to the next; the session is checked as often. */
  readonly heartbeatMs: number;
  readonly perUser: number;
  readonly perProcess: number;
  /** What may wait for a client; one with more is cut off. */
  readonly unsentBytes: number;
  /** What is read, and sent, at once. */
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
/** How long before its position a replay begins (design §3): longer than a result takes from its stamp to its commit. */
export const REPLAY_OVERLAP_MS = 10_000;
