import { setTimeout as wait } from 'node:timers/promises';
import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';
import { isDataError, isMissingPartition } from '@tocsin/db/database/errors';
import type { Logger } from '@tocsin/runtime/logger';
import { BATCH_EVERY_MS, nextBatchAt } from './batch-pace.ts';

/** What became of a result that was not `busy`, which the recorder tries again by itself. */
export type RecordedOutcome = Exclude<CheckOutcome, { kind: 'busy' }>;

/** The recorder was closed before Postgres took the result: the job that made it goes back. */
export class RecorderClosedError extends Error {
  override readonly name = 'RecorderClosedError';
}

export interface RecorderOptions {
  readonly record: (checks: readonly CheckRecord[]) => Promise<CheckOutcome[]>;
  readonly ensurePartitions: () => Promise<void>;
  readonly logger: Logger;
  readonly onBatch: (size: number, durationMs: number) => void;
  /** How long `close` keeps trying a Postgres that does not answer. Default: 5 s. */
  readonly closePatienceMs?: number;
}

interface Entry {
  readonly check: CheckRecord;
  readonly resolve: (outcome: RecordedOutcome) => void;
  readonly reject: (error: unknown) => void;
  /** How often its monitor was found busy. */
  busyTimes: number;
  /** Not tried again before, by `performance.now()`. */
  notBefore: number;
}

const MOST_PER_BATCH = 500;
/** How long a busy monitor is left alone: the results of others are recorded meanwhile. */
const BUSY_WAIT_MS = { first: 10, most: 160 } as const;
const RETRY_MS = { first: 100, most: 2_000 } as const;
const CLOSE_PATIENCE_MS = 5_000;

/**
 * Records results in batches, one batch at a time (design §5). A result's promise settles when its batch has committed, so a
 * job is done only after that. While Postgres is away results wait here and the workers' slots with them.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  #entries: Entry[] = [];
  #flushing: Promise<void> | null = null;
  #stalled = false;
  readonly #closing = new AbortController();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** @throws RecorderClosedError, or the database's error where it refuses this very result */
  record(check: CheckRecord): Promise<RecordedOutcome> {
    return new Promise((resolve, reject) => {
      this.#entries.push({ check, resolve, reject, busyTimes: 0, notBefore: 0 });
      this.#flushing ??= this.#flushAll();
    });
  }

  /** Whether results wait for a Postgres that does not take them. */
  get stalled(): boolean {
    return this.#stalled;
  }

  /** Records what is pending; gives up on a Postgres that stays away. */
  async close(): Promise<void> {
    const { closePatienceMs = CLOSE_PATIENCE_MS } = this.#options;
    const timer = setTimeout(() => this.abandon(), closePatienceMs);
    await this.#flushing;
    clearTimeout(timer);
  }

  /** Rejects what Postgres does not take at once, so that the jobs behind it go back. */
  abandon(): void {
    this.#closing.abort();
  }

  async #flushAll(): Promise<void> {
    await this.#waitUnlessClosing(BATCH_EVERY_MS);
    while (this.#entries.length > 0) {
      const batch = this.#takeBatch();
      if (batch.length === 0) {
        await this.#waitForBusy();
        continue;
      }
      const startedAt = performance.now();
      const busy = await this.#flush(batch);
      const nextAt = nextBatchAt(startedAt, performance.now());
      if (this.#closing.signal.aborted) rejectAll(busy, closed());
      else this.#putBack(busy);
      if (this.#entries.length < MOST_PER_BATCH) await this.#waitUnlessClosing(nextAt - performance.now());
    }
    // In the same turn as the last look at the entries: a result that comes later starts anew.
    this.#flushing = null;
  }

  /** The oldest results, one of each monitor, without those of monitors that were just busy. */
  #takeBatch(): Entry[] {
    const now = this.#closing.signal.aborted ? Infinity : performance.now();
    const batch: Entry[] = [];
    const rest: Entry[] = [];
    const passed = new Set<string>();
    for (const entry of this.#entries) {
      const { monitorId } = entry.check;
      const taken = batch.length < MOST_PER_BATCH && !passed.has(monitorId) && entry.notBefore <= now;
      // A monitor's later results stay behind its first one, whether that is taken now or left alone.
      passed.add(monitorId);
      (taken ? batch : rest).push(entry);
    }
    this.#entries = rest;
    return batch;
  }

  /** Before newer results, so that those of one monitor keep their order. */
  #putBack(busy: readonly Entry[]): void {
    const now = performance.now();
    for (const entry of busy) {
      entry.notBefore = now + Math.min(BUSY_WAIT_MS.first * 2 ** entry.busyTimes, BUSY_WAIT_MS.most);
      entry.busyTimes += 1;
    }
    this.#entries.unshift(...busy);
  }

  async #waitForBusy(): Promise<void> {
    const next = this.#entries.reduce((earliest, { notBefore }) => Math.min(earliest, notBefore), Infinity);
    // Not longer than a newcomer would wait for company: its monitor may be free.
    const delayMs = Math.min(Math.max(1, next - performance.now()), BUSY_WAIT_MS.first);
    await this.#waitUnlessClosing(delayMs);
  }

  async #waitUnlessClosing(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }

  /** Records one batch. @returns the entries whose monitor is busy */
  async #flush(batch: Entry[]): Promise<Entry[]> {
    const checks = batch.map((entry) => entry.check);
    for (let delayMs: number = RETRY_MS.first; ; delayMs = Math.min(delayMs * 2, RETRY_MS.most)) {
      try {
        const startedAt = performance.now();
        const outcomes = await this.#unlessAbandoned(this.#options.record(checks));
        this.#options.onBatch(batch.length, performance.now() - startedAt);
        this.#stalled = false;
        return settle(batch, outcomes);
      } catch (error) {
        if (isMissingPartition(error)) await this.#ensurePartitions();
        else if (isDataError(error)) return this.#isolate(batch, error);
        else this.#options.logger.warn('Recording failed; trying again', { error, results: batch.length });
        this.#stalled = true;
        if (this.#closing.signal.aborted) return rejectAll(batch, closed());
        await this.#waitUnlessClosing(delayMs);
      }
    }
  }

  /** At shutdown nobody waits for a query that hangs; if it commits after all, the slot makes the repetition harmless. */
  async #unlessAbandoned<Result>(work: Promise<Result>): Promise<Result> {
    const { signal } = this.#closing;
    if (signal.aborted) {
      work.catch(() => undefined);
      throw closed();
    }
    let abandon: (() => void) | undefined;
    const abandoned = new Promise<never>((_, reject) => {
      abandon = () => reject(closed());
      signal.addEventListener('abort', abandon, { once: true });
    });
    try {
      return await Promise.race([work, abandoned]);
    } finally {
      if (abandon) signal.removeEventListener('abort', abandon);
    }
  }

  /** Postgres refuses the data of one of them: halves the batch until only that one is refused (design §5). */
  async #isolate(batch: Entry[], error: unknown): Promise<Entry[]> {
    const [only] = batch;
    if (batch.length === 1 && only) {
      this.#options.logger.error('A result cannot be recorded', { error, monitorId: only.check.monitorId });
      only.reject(error);
      return [];
    }
    const middle = Math.ceil(batch.length / 2);
    const first = await this.#flush(batch.slice(0, middle));
    return [...first, ...(await this.#flush(batch.slice(middle)))];
  }

  async #ensurePartitions(): Promise<void> {
    try {
      await this.#options.ensurePartitions();
    } catch (error) {
      this.#options.logger.warn('Making the partitions of events failed', { error });
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

function closed(): Error {
  return new RecorderClosedError('the checker shuts down');
}

function rejectAll(batch: readonly Entry[], error: Error): Entry[] {
  for (const entry of batch) entry.reject(error);
  return [];
}
