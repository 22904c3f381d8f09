import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';

/** Batches start this far apart: a transaction costs about the same for one result as for thirty. */
export const BATCH_EVERY_MS = 25;
/** Where Postgres, or this process, is so busy that batches take long, there are fewer and larger ones: so many times as far apart. */
const BATCH_EVERY_DURATIONS = 4;
const MOST_BETWEEN_BATCHES_MS = 100;

/** When the batch after one that took from `startedAt` to `endedAt` may start; all in milliseconds of one clock. */
export function nextBatchAt(startedAt: number, endedAt: number): number {
  const apartMs = Math.max(BATCH_EVERY_MS, (endedAt - startedAt) * BATCH_EVERY_DURATIONS);
  return startedAt + Math.min(apartMs, MOST_BETWEEN_BATCHES_MS);
}

/** What became of a result that was not `busy`, which the recorder tries again by itself. */
export type RecordedOutcome = Exclude<CheckOutcome, { kind: 'busy' }>;

/** A result that waits to be recorded, and who waits for it. */
export interface Entry {
  readonly check: CheckRecord;
  readonly resolve: (outcome: RecordedOutcome) => void;
  readonly reject: (error: unknown) => void;
  /** How often its monitor was found busy. */
  busyTimes: number;
  /** Not tried again before, by `performance.now()`. */
  notBefore: number;
}

/** The recorder was closed before Postgres took the result: the job that made it goes back. */
export class RecorderClosedError extends Error {
  override readonly name = 'RecorderClosedError';

  constructor() {
    super('the checker shuts down');
  }
}

/** How long a busy monitor is left alone: the results of others are recorded meanwhile. */
const BUSY_WAIT_MS = { first: 10, max: 160 } as const;
export const RETRY_MS = { first: 100, max: 2_000 } as const;

/** Puts off the entries whose monitor is busy. */
export function postpone(busy: readonly Entry[]): void {
  const now = performance.now();
  for (const entry of busy) {
    entry.notBefore = now + Math.min(BUSY_WAIT_MS.first * 2 ** entry.busyTimes, BUSY_WAIT_MS.max);
    entry.busyTimes += 1;
  }
}

export function rejectAll(entries: readonly Entry[], error: Error): void {
  for (const entry of entries) entry.reject(error);
}
