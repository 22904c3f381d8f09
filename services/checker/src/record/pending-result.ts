import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';

/** The recorder retries `busy` results itself. */
export type RecordedOutcome = Exclude<CheckOutcome, { kind: 'busy' }>;

export interface PendingResult {
  readonly check: CheckRecord;
  readonly resolve: (outcome: RecordedOutcome) => void;
  readonly reject: (error: unknown) => void;
  busyTimes: number;
  /** Earliest next attempt, by `performance.now()`. */
  notBefore: number;
}

/** The recorder closed before Postgres took the result, so its job returns to the queue. */
export class RecorderClosedError extends Error {
  override readonly name = 'RecorderClosedError';

  constructor() {
    super('the checker shuts down');
  }
}

/** Delays before the results of a busy monitor are tried again, while those of others are recorded. */
const BUSY_WAIT_MS = { first: 10, max: 160 } as const;
/** Interval of urgent batches. A transaction costs about the same for one result as for thirty. */
export const BATCH_EVERY_MS = 25;
/** Batches start at intervals of this many durations, so slow batches are fewer and larger. */
const BATCH_EVERY_DURATIONS = 4;
const MAX_BETWEEN_URGENT_MS = 100;
/** Interval of batches without urgent results. */
export const MAX_BETWEEN_BATCHES_MS = 150;

/** Reports whether the result must not wait for a full batch, because it may raise an alert or a caller waits for it. */
export function isUrgent({ check }: Pick<PendingResult, 'check'>): boolean {
  return check.status === 'DOWN' || check.source === 'trigger';
}

/** Returns when an urgent batch may start after one that ran from `startedAt` to `endedAt`, in milliseconds of the same clock. */
export function nextUrgentBatchAt(startedAt: number, endedAt: number): number {
  const apartMs = Math.max(BATCH_EVERY_MS, (endedAt - startedAt) * BATCH_EVERY_DURATIONS);
  return startedAt + Math.min(apartMs, MAX_BETWEEN_URGENT_MS);
}

export function postpone(busy: readonly PendingResult[]): void {
  const now = performance.now();
  for (const result of busy) {
    result.notBefore = now + Math.min(BUSY_WAIT_MS.first * 2 ** result.busyTimes, BUSY_WAIT_MS.max);
    result.busyTimes += 1;
  }
}

export function rejectClosed(results: readonly PendingResult[]): void {
  for (const { reject } of results) reject(new RecorderClosedError());
}
