import { STREAM_HEARTBEAT_SECONDS } from '@tocsin/contracts/limits';

/** Bounds of live streams. Tests set tighter ones. */
export const STREAM_LIMITS = {
  pollMs: 1_000,
  /** One in this many queries compares all monitors and sends their digest. */
  compareAllEvery: 30,
  /** Interval of heartbeats and session checks. */
  heartbeatMs: STREAM_HEARTBEAT_SECONDS * 1_000,
  /** Open streams of this process. Accounts share them evenly. */
  open: 500,
  /** A stream waits this long while all others are open. */
  openWithinMs: 5_000,
  /** A client with more unread bytes is disconnected. */
  unsentBytes: 1024 * 1024,
  pageRecords: 1_000,
  /** A replay reaches back this far. */
  replayMs: 5 * 60_000,
  replayRecords: 5_000,
} as const;
export type StreamLimits = Readonly<Record<keyof typeof STREAM_LIMITS, number>>;

export const RETRY_MS = 2_000;
/** A replay begins this long before its position, because transactions may commit after their timestamp. */
export const REPLAY_OVERLAP_MS = 10_000;
