import { setTimeout as wait } from 'node:timers/promises';
import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';
import type { RecordOptions } from '@tocsin/db/checks/record-checks';
import { isDataError, isMissingPartition, isRefusal, isTimeout } from '@tocsin/db/database/errors';
import type { Logger } from '@tocsin/runtime/logger';
import { withSpan } from '@tocsin/runtime/tracing';
import {
  BATCH_EVERY_MS,
  isUrgent,
  MAX_BETWEEN_BATCHES_MS,
  nextUrgentBatchAt,
  postpone,
  RecorderClosedError,
  rejectClosed,
  type PendingResult,
  type RecordedOutcome,
} from './pending-result.ts';
import { Quarantine } from './quarantine.ts';

export { RecorderClosedError, type RecordedOutcome } from './pending-result.ts';

export interface RecorderOptions {
  readonly record: (checks: readonly CheckRecord[], options?: RecordOptions) => Promise<CheckOutcome[]>;
  readonly ensurePartitions: () => Promise<void>;
  readonly logger: Logger;
  readonly onBatch: (size: number, durationMs: number) => void;
  readonly onRefused?: () => void;
  /** `close` retries for this long if PostgreSQL does not respond. Defaults to 5 s. */
  readonly closePatienceMs?: number;
  /** Delay of the first retry of a refused result, doubled each time. Defaults to 1 s. */
  readonly refusedWaitMs?: number;
}

const MAX_BATCH_SIZE = 500;
/** A batch that takes longer waits for a slow Postgres, so the next one starts without it. */
const SLOW_BATCH_MS = 100;
/** Each batch needs a connection, and the checker needs others to read monitors. */
const MAX_CONCURRENT_BATCHES = 4;
const RETRY_MS = { first: 100, max: 2_000 } as const;
const CLOSE_PATIENCE_MS = 5_000;
/** Maximum attempts with a whole batch, which outlast a deadlock. A timeout costs too much to repeat. */
const TRIES_BEFORE_QUARANTINE = 3;
/** If more results are in quarantine, they are not the cause. */
const MAX_QUARANTINED = 2_000;
const QUARANTINE_STATEMENT_TIMEOUT_MS = 1_000;
const REFUSED_WAIT_MS = 1_000;
const MAX_IDLE_MS = 2 ** 31 - 1;
/** If results have waited this long, the process is not ready. */
const STALLED_AFTER_MS = 10_000;
/** End of the `traceparent` of a sampled trace. */
const SAMPLED = '-01';

/**
 * Records results in batches. A result settles when its batch commits, and waits here while Postgres is unavailable. A refused batch goes to
 * the quarantine, which finds the refused results while others continue.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  #pending: PendingResult[] = [];
  #flushing: Promise<void> | null = null;
  readonly #writing = new Set<Promise<void>>();
  /** Monitors with a result in a running batch. Their later results wait. */
  readonly #inBatch = new Set<string>();
  /** Start of the stall by `performance.now()`, or null while Postgres takes results. */
  #stalledSince: number | null = null;
  #recorded = 0;
  readonly #quarantine: Quarantine;
  readonly #closing = new AbortController();
  /** Ends the wait for a due result. */
  #idle: AbortController | null = null;
  /** Ends the wait for more results when an urgent one arrives or the batch is full. */
  #collecting: AbortController | null = null;

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { logger, onRefused, refusedWaitMs = REFUSED_WAIT_MS } = options;
    this.#quarantine = new Quarantine({
      write: (results) => this.#write(results, { statementTimeoutMs: QUARANTINE_STATEMENT_TIMEOUT_MS }),
      ensurePartitions: () => this.#ensurePartitions(),
      recordedCount: () => this.#recorded,
      logger,
      onRefused: () => {
        // Postgres responds. The next result shows whether it takes others.
        this.#stalledSince = null;
        onRefused?.();
      },
      onReleased: () => this.#idle?.abort(),
      refusedWaitMs,
      closing: this.#closing.signal,
    });
  }

  /** Records a result. @throws RecorderClosedError, or the error of a database that refuses this result */
  record(check: CheckRecord): Promise<RecordedOutcome> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ check, resolve, reject, busyTimes: 0, notBefore: 0 });
      this.#idle?.abort();
      if (isUrgent({ check }) || this.#pending.length >= MAX_BATCH_SIZE) this.#collecting?.abort();
      this.#flushing ??= this.#flushAll();
    });
  }

  /** True while results wait because Postgres does not take them. */
  get stalled(): boolean {
    return this.#stalledSince !== null;
  }

  /** @throws Error if Postgres has not taken any result for ten seconds */
  async checkProgress(): Promise<void> {
    const stalledMs = performance.now() - (this.#stalledSince ?? Infinity);
    if (stalledMs >= STALLED_AFTER_MS)
      throw new Error(`no result could be recorded for ${Math.round(stalledMs / 1_000)} s`);
  }

  /** Records pending results, but does not wait forever for Postgres. */
  async close(): Promise<void> {
    const { closePatienceMs = CLOSE_PATIENCE_MS } = this.#options;
    const timer = setTimeout(() => this.abandon(), closePatienceMs);
    await this.#flushing;
    await this.#quarantine.done();
    clearTimeout(timer);
  }

  /** Rejects all pending results, so that their jobs return to the queue. */
  abandon(): void {
    this.#closing.abort();
    this.#idle?.abort();
    this.#collecting?.abort();
  }

  async #flushAll(): Promise<void> {
    const now = performance.now();
    await this.#collect(now + BATCH_EVERY_MS, now + MAX_BETWEEN_BATCHES_MS);
    while (this.#pending.length > 0 || this.#writing.size > 0) {
      if (this.#closing.signal.aborted) {
        rejectClosed(this.#pending.splice(0));
        await Promise.all(this.#writing);
        continue;
      }
      const batch = this.#takeBatch();
      if (batch.length === 0) {
        await this.#waitForDue();
        continue;
      }
      const startedAt = performance.now();
      await this.#untilSlow(this.#startBatch(batch));
      const urgentAt = nextUrgentBatchAt(startedAt, performance.now());
      // While Postgres takes no results, new ones wait.
      while (this.#writing.size >= (this.stalled ? 1 : MAX_CONCURRENT_BATCHES))
        await Promise.race(this.#writing);
      await this.#collect(urgentAt, startedAt + MAX_BETWEEN_BATCHES_MS);
    }
    // This runs in the same turn as the last look at the pending results, so that the next result starts a new flush.
    this.#flushing = null;
  }

  /** Waits until the batch is full or the given moment by `performance.now()`, which is earlier for urgent results. */
  async #collect(urgentAt: number, latestAt: number): Promise<void> {
    if (this.#pending.length >= MAX_BATCH_SIZE) return;
    await this.#waitUnlessClosing(Math.max(0, urgentAt - performance.now()));
    const restMs = latestAt - performance.now();
    if (restMs <= 0 || this.#pending.length >= MAX_BATCH_SIZE || this.#pending.some(isUrgent)) return;
    if (this.#closing.signal.aborted) return;
    const collecting = new AbortController();
    this.#collecting = collecting;
    await wait(restMs, undefined, { signal: collecting.signal }).catch(() => undefined);
    this.#collecting = null;
  }

  #startBatch(batch: readonly PendingResult[]): Promise<void> {
    for (const { check } of batch) this.#inBatch.add(check.monitorId);
    const write = async (): Promise<void> => {
      const busy = await this.#flush(batch);
      for (const { check } of batch) this.#inBatch.delete(check.monitorId);
      this.#writing.delete(writing);
      // Busy results come first, so that the results of a monitor keep their order.
      this.#pending.unshift(...busy);
      this.#idle?.abort();
    };
    const writing = write();
    this.#writing.add(writing);
    return writing;
  }

  async #untilSlow(writing: Promise<void>): Promise<void> {
    const ended = new AbortController();
    const slow = wait(SLOW_BATCH_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    await Promise.race([writing, slow]);
    ended.abort();
  }

  /** Takes the oldest due result of each monitor. Results of suspected monitors go to the quarantine. */
  #takeBatch(): PendingResult[] {
    const now = performance.now();
    const taken = new Set<PendingResult>();
    const batch: PendingResult[] = [];
    for (const result of this.#firstOfEachMonitor()) {
      if (result.notBefore > now) continue;
      if (this.#quarantine.isSuspected(result.check.monitorId)) this.#quarantine.add([result], null);
      else if (batch.length < MAX_BATCH_SIZE) batch.push(result);
      else continue;
      taken.add(result);
    }
    if (taken.size > 0) this.#pending = this.#pending.filter((result) => !taken.has(result));
    return batch;
  }

  /** Lists the first result of each monitor. Later ones wait for it, or for one in a batch or in quarantine. */
  #firstOfEachMonitor(): PendingResult[] {
    const seen = new Set<string>();
    return this.#pending.filter(({ check: { monitorId } }) => {
      if (seen.has(monitorId)) return false;
      seen.add(monitorId);
      return !this.#inBatch.has(monitorId) && !this.#quarantine.includes(monitorId);
    });
  }

  async #waitForDue(): Promise<void> {
    const dueAt = this.#firstOfEachMonitor().reduce((at, { notBefore }) => Math.min(at, notBefore), Infinity);
    const delayMs = Math.min(Math.max(1, dueAt - performance.now()), MAX_IDLE_MS);
    const idle = new AbortController();
    this.#idle = idle;
    await wait(delayMs, undefined, { signal: idle.signal }).catch(() => undefined);
    this.#idle = null;
    // Others may follow into the same batch.
    if (idle.signal.aborted) await this.#waitUnlessClosing(BATCH_EVERY_MS);
  }

  async #waitUnlessClosing(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }

  /** Records one batch even if Postgres is unavailable for long, or quarantines it. @returns the results whose monitor is busy */
  async #flush(batch: readonly PendingResult[]): Promise<PendingResult[]> {
    let delayMs: number = RETRY_MS.first;
    for (let tries = 1; ; tries += 1, delayMs = Math.min(delayMs * 2, RETRY_MS.max)) {
      try {
        return await this.#write(batch);
      } catch (error) {
        if (this.#closing.signal.aborted) {
          rejectClosed(batch);
          return [];
        }
        if (this.#mayQuarantine(error, tries)) {
          this.#quarantine.add(batch, error);
          return [];
        }
        this.#stalledSince ??= performance.now();
        this.#options.logger.warn('Could not record results. Trying again.', {
          error,
          results: batch.length,
        });
        if (isMissingPartition(error)) await this.#ensurePartitions();
        await this.#waitUnlessClosing(delayMs);
      }
    }
  }

  #mayQuarantine(error: unknown, tries: number): boolean {
    if (!isRefusal(error) || this.#quarantine.size >= MAX_QUARANTINED) return false;
    return isDataError(error) || isTimeout(error) || tries >= TRIES_BEFORE_QUARANTINE;
  }

  /** Tries once. @returns the results whose monitor is busy */
  async #write(results: readonly PendingResult[], options?: RecordOptions): Promise<PendingResult[]> {
    const startedAt = performance.now();
    const checks = results.map(({ check }) => check);
    const span = {
      // A batch belongs to many traces, so it starts its own with links to them.
      parent: null,
      links: checks.flatMap(({ traceparent }) => (traceparent?.endsWith(SAMPLED) ? traceparent : [])),
      attributes: { 'tocsin.checks': checks.length },
    };
    const outcomes = await this.#unlessAbandoned(() =>
      withSpan('record checks', span, () => this.#options.record(checks, options)),
    );
    this.#options.onBatch(results.length, performance.now() - startedAt);
    this.#stalledSince = null;
    const busy = settle(results, outcomes);
    this.#recorded += results.length - busy.length;
    postpone(busy);
    return busy;
  }

  /** A shutdown does not wait for a hanging query. If the query still commits, the repeated result is dropped as a duplicate. */
  async #unlessAbandoned<Result>(work: () => Promise<Result>): Promise<Result> {
    const { signal } = this.#closing;
    if (signal.aborted) throw new RecorderClosedError();
    let abandon: (() => void) | undefined;
    const abandoned = new Promise<never>((_, reject) => {
      abandon = () => reject(new RecorderClosedError());
      signal.addEventListener('abort', abandon, { once: true });
    });
    try {
      return await Promise.race([work(), abandoned]);
    } finally {
      if (abandon) signal.removeEventListener('abort', abandon);
    }
  }

  async #ensurePartitions(): Promise<void> {
    try {
      await this.#options.ensurePartitions();
    } catch (error) {
      this.#options.logger.warn('Creating partitions of events failed', { error });
    }
  }
}

/** Resolves the results that are not busy. @returns the busy ones */
function settle(results: readonly PendingResult[], outcomes: readonly CheckOutcome[]): PendingResult[] {
  return results.filter((result, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined || outcome.kind === 'busy') return true;
    result.resolve(outcome);
    return false;
  });
}
