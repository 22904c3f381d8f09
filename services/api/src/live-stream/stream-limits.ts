import { STREAM_HEARTBEAT_SECONDS } from '@tocsin/contracts/limits';

/** Bounds of live streams. Tests set tighter ones. */
export const STREAM_LIMITS = {
  /** Interval of the queries. */
  pollMs: 1_000,
  /** Every so many queries, one compares all monitors and sends their digest. */
  compareAllEvery: 30,
  /** Interval of the heartbeats and of the checks of the session. */
  heartbeatMs: STREAM_HEARTBEAT_SECONDS * 1_000,
  perUser: 20,
  perProcess: 500,
  /** Bytes that may wait for a client before its connection is cut. */
  unsentBytes: 1024 * 1024,
  /** Records read and sent at a time. */
  pageRecords: 1_000,
  /** How far back a replay reaches. */
  replayMs: 5 * 60_000,
  replayRecords: 5_000,
} as const;
export type StreamLimits = Readonly<Record<keyof typeof STREAM_LIMITS, number>>;

/** How long clients wait before they connect again. */
export const RETRY_MS = 2_000;
/** How long before its position a replay begins: longer than a commit takes after its timestamp. */
export const REPLAY_OVERLAP_MS = 10_000;
