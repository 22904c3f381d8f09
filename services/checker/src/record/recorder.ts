import { setTimeout as wait } from 'node:timers/promises';
import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';
import type { RecordOptions } from '@tocsin/db/checks/record-checks';
import { isDataError, isMissingPartition, isRefusal, isTimeout } from '@tocsin/db/database/errors';
import type { Logger } from '@tocsin/runtime/logger';
import { withSpan } from '@tocsin/runtime/tracing';
import {
  BATCH_EVERY_MS,
  type Entry,
  nextBatchAt,
  postpone,
  type RecordedOutcome,
  RecorderClosedError,
  rejectAll,
  RETRY_MS,
} from './pending-result.ts';
import { Suspects } from './quarantine.ts';

export { RecorderClosedError, type RecordedOutcome } from './pending-result.ts';

export interface RecorderOptions {
  readonly record: (checks: readonly CheckRecord[], options?: RecordOptions) => Promise<CheckOutcome[]>;
  readonly ensurePartitions: () => Promise<void>;
  readonly logger: Logger;
  readonly onBatch: (size: number, durationMs: number) => void;
  /** Called for each result that is dropped because Postgres refuses it. */
  readonly onRefused?: () => void;
  /** How long `close` keeps trying a Postgres that does not answer. Default: 5 s. */
  readonly closePatienceMs?: number;
  /** How long a result that was refused waits before it is tried again, times two for each time. Default: 1 s. */
  readonly refusedWaitMs?: number;
}

const MAX_BATCH_SIZE = 500;
/** How the `traceparent` of a trace ends that is kept. */
const SAMPLED = '-01';
const CLOSE_PATIENCE_MS = 5_000;
/** How often a batch that Postgres refuses is tried as a whole: a deadlock is over by then. A time-out costs too much to repeat. */
const TRIES_BEFORE_ISOLATION = 3;
/** Results that may be isolated at the same time. With more than that, the cause is not in the results. */
const MAX_ISOLATED = 2_000;
/** A statement of a few results takes milliseconds. */
const ISOLATED_STATEMENT_TIMEOUT_MS = 1_000;
const REFUSED_WAIT_MS = 1_000;
/** The longest delay that a timer takes; nothing depends on its end. */
const MAX_IDLE_MS = 2 ** 31 - 1;
/** Results may wait for Postgres this long before the process says that it is not ready. */
const STALLED_AFTER_MS = 10_000;

/**
 * Records results in batches, one batch at a time. A result's promise settles when its batch has committed, so a job is done only after
 * that. While Postgres is away results wait here. A batch that Postgres refuses is isolated: `Suspects` finds the results that are
 * refused, while other batches go on.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  #entries: Entry[] = [];
  #flushing: Promise<void> | null = null;
  /** By `performance.now()`; null: Postgres takes results. */
  #stalledSince: number | null = null;
  #recorded = 0;
  readonly #suspects: Suspects;
  readonly #closing = new AbortController();
  /** Ends the wait for a result that is due; null: the recorder does not wait for one. */
  #idle: AbortController | null = null;

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { logger, onRefused, refusedWaitMs = REFUSED_WAIT_MS } = options;
    this.#suspects = new Suspects({
      write: (entries) => this.#write(entries, { statementTimeoutMs: ISOLATED_STATEMENT_TIMEOUT_MS }),
      ensurePartitions: () => this.#ensurePartitions(),
      recordedCount: () => this.#recorded,
      logger,
      onRefused: () => {
        // Postgres answers; whether it takes other results is seen with the next one.
        this.#stalledSince = null;
        onRefused?.();
      },
      onReleased: () => this.#idle?.abort(),
      refusedWaitMs,
      closing: this.#closing.signal,
    });
  }

  /** @throws RecorderClosedError, or the database's error where it refuses this very result */
  record(check: CheckRecord): Promise<RecordedOutcome> {
    return new Promise((resolve, reject) => {
      this.#entries.push({ check, resolve, reject, busyTimes: 0, notBefore: 0 });
      this.#idle?.abort();
      this.#flushing ??= this.#flushAll();
    });
  }

  /** Whether results wait for a Postgres that does not take them. */
  get stalled(): boolean {
    return this.#stalledSince !== null;
  }

  /** @throws Error while Postgres has not taken any result for ten seconds */
  async checkProgress(): Promise<void> {
    await Promise.resolve();
    if (this.#stalledSince === null) return;
    const stalledMs = performance.now() - this.#stalledSince;
    if (stalledMs < STALLED_AFTER_MS) return;
    throw new Error(`no result could be recorded for ${Math.round(stalledMs / 1_000)} s`);
  }

  /** Records what is pending; gives up on a Postgres that stays away. */
  async close(): Promise<void> {
    const { closePatienceMs = CLOSE_PATIENCE_MS } = this.#options;
    const timer = setTimeout(() => this.abandon(), closePatienceMs);
    await this.#flushing;
    await this.#suspects.done();
    clearTimeout(timer);
  }

  /** Rejects every result that is not recorded yet, so that the jobs behind it go back. */
  abandon(): void {
    this.#closing.abort();
    this.#idle?.abort();
  }

  async #flushAll(): Promise<void> {
    await this.#waitUnlessClosing(BATCH_EVERY_MS);
    while (this.#entries.length > 0) {
      if (this.#closing.signal.aborted) {
        rejectAll(this.#entries.splice(0), new RecorderClosedError());
        break;
      }
      for (const suspect of this.#take(Infinity, (entry) => this.#suspects.isSuspect(entry))) {
        this.#suspects.add([suspect], null);
      }
      const batch = this.#take(MAX_BATCH_SIZE, (entry) => !this.#suspects.isSuspect(entry));
      if (batch.length === 0) {
        await this.#waitForDue();
        continue;
      }
      const startedAt = performance.now();
      const busy = await this.#flush(batch);
      const nextAt = nextBatchAt(startedAt, performance.now());
      // Before newer results, so that those of one monitor keep their order.
      this.#entries.unshift(...busy);
      if (this.#entries.length < MAX_BATCH_SIZE)
        await this.#waitUnlessClosing(Math.max(0, nextAt - performance.now()));
    }
    // In the same turn as the last look at the entries: a result that comes later starts anew.
    this.#flushing = null;
  }

  /** The oldest wanted results, one of each monitor, without those of monitors that were just busy or have a result isolated. */
  #take(limit: number, isWanted: (entry: Entry) => boolean): Entry[] {
    const now = performance.now();
    const taken: Entry[] = [];
    const rest: Entry[] = [];
    const passed = new Set<string>();
    for (const entry of this.#entries) {
      const { monitorId } = entry.check;
      const isDue = entry.notBefore <= now && !passed.has(monitorId) && !this.#suspects.holds(entry);
      // A monitor's later results stay behind its first one, whether that is taken now or left alone.
      passed.add(monitorId);
      (isDue && taken.length < limit && isWanted(entry) ? taken : rest).push(entry);
    }
    this.#entries = rest;
    return taken;
  }

  /** Waits until a result may be due: time has passed, another result has come, or `Suspects` has released a monitor. */
  async #waitForDue(): Promise<void> {
    const delayMs = this.#nextDueAt() - performance.now();
    const idle = new AbortController();
    this.#idle = idle;
    await wait(Math.min(Math.max(1, delayMs), MAX_IDLE_MS), undefined, { signal: idle.signal }).catch(
      () => undefined,
    );
    this.#idle = null;
    // Others may follow it into the same batch.
    if (idle.signal.aborted) await this.#waitUnlessClosing(BATCH_EVERY_MS);
  }

  /** When the first busy monitor is to be tried again, by `performance.now()`; Infinity: all results wait for `Suspects`. */
  #nextDueAt(): number {
    const passed = new Set<string>();
    let dueAt = Infinity;
    for (const entry of this.#entries) {
      const { monitorId } = entry.check;
      // A monitor's later results wait for its first one.
      if (!passed.has(monitorId) && !this.#suspects.holds(entry)) dueAt = Math.min(dueAt, entry.notBefore);
      passed.add(monitorId);
    }
    return dueAt;
  }

  async #waitUnlessClosing(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }

  /** Records one batch, however long Postgres is away, or has it isolated. @returns the entries whose monitor is busy */
  async #flush(batch: readonly Entry[]): Promise<Entry[]> {
    let delayMs: number = RETRY_MS.first;
    for (let tries = 1; ; tries += 1, delayMs = Math.min(delayMs * 2, RETRY_MS.max)) {
      try {
        return await this.#write(batch);
      } catch (error) {
        if (this.#closing.signal.aborted) {
          rejectAll(batch, new RecorderClosedError());
          return [];
        }
        if (this.#mayIsolate(error, tries)) {
          this.#suspects.add(batch, error);
          return [];
        }
        this.#stalledSince ??= performance.now();
        this.#options.logger.warn('Recording failed; trying again', { error, results: batch.length });
        if (isMissingPartition(error)) await this.#ensurePartitions();
        await this.#waitUnlessClosing(delayMs);
      }
    }
  }

  #mayIsolate(error: unknown, tries: number): boolean {
    if (isMissingPartition(error) || !isRefusal(error) || this.#suspects.size >= MAX_ISOLATED) return false;
    return isDataError(error) || isTimeout(error) || tries >= TRIES_BEFORE_ISOLATION;
  }

  /** One try. @returns the entries whose monitor is busy */
  async #write(entries: readonly Entry[], options?: RecordOptions): Promise<Entry[]> {
    const startedAt = performance.now();
    const checks = entries.map((entry) => entry.check);
    const span = {
      // A batch belongs to many traces, so it is linked to them and starts its own.
      parent: null,
      links: checks.flatMap(({ traceparent }) => (traceparent?.endsWith(SAMPLED) ? traceparent : [])),
      attributes: { 'tocsin.checks': checks.length },
    };
    const outcomes = await this.#unlessAbandoned(() =>
      withSpan('record checks', span, () => this.#options.record(checks, options)),
    );
    this.#options.onBatch(entries.length, performance.now() - startedAt);
    this.#stalledSince = null;
    const busy = settle(entries, outcomes);
    this.#recorded += entries.length - busy.length;
    postpone(busy);
    return busy;
  }

  /** At shutdown nobody waits for a query that hangs; if it commits after all, the slot makes the repetition harmless. */
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

function settle(batch: readonly Entry[], outcomes: readonly CheckOutcome[]): Entry[] {
  return batch.filter((entry, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined || outcome.kind === 'busy') return true;
    entry.resolve(outcome);
    return false;
  });
}
