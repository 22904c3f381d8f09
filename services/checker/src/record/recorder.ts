import { setTimeout as wait } from 'node:timers/promises';
import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';
import { isDataError, isMissingPartition, isRefusal } from '@tocsin/db/database/errors';
import type { Logger } from '@tocsin/runtime/logger';
import { ExpiringMap } from '../targets/expiring-map.ts';
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
  /** Called for each result that is dropped because Postgres refuses it. */
  readonly onRefused?: () => void;
  /** How long `close` keeps trying a Postgres that does not answer. Default: 5 s. */
  readonly closePatienceMs?: number;
  /** How long a result that was refused waits before it is tried again, times two for each time. Default: 1 s. */
  readonly refusedWaitMs?: number;
}

interface Entry {
  readonly check: CheckRecord;
  readonly resolve: (outcome: RecordedOutcome) => void;
  readonly reject: (error: unknown) => void;
  /** How often its monitor was found busy. */
  busyTimes: number;
  /** How often Postgres refused it when it was written alone. */
  refusals: number;
  /** How many results had been recorded when it was refused first. */
  recordedBefore: number;
  /** Not tried again before, by `performance.now()`. */
  notBefore: number;
}

const MAX_BATCH_SIZE = 500;
/** How long a busy monitor is left alone: the results of others are recorded meanwhile. */
const BUSY_WAIT_MS = { first: 10, max: 160 } as const;
const RETRY_MS = { first: 100, max: 2_000 } as const;
const CLOSE_PATIENCE_MS = 5_000;
/** How often a batch that Postgres refuses is tried as a whole: a deadlock or a lock time-out is over by then. */
const TRIES_BEFORE_ISOLATION = 3;
/** Where as many results in a row are refused one by one and none is recorded, the cause is not in the results. */
const MAX_REFUSED_IN_A_ROW = 8;
/** How often one result is tried alone before it is dropped. */
const MAX_REFUSALS = 5;
const REFUSED_WAIT_MS = 1_000;
/** Results of a monitor that had one refused are written alone for this long. */
const SUSPECT_FOR_MS = 10 * 60_000;
/** Results may wait for Postgres this long before the process says that it is not ready. */
const STALLED_AFTER_MS = 10_000;

/**
 * Records results in batches, one batch at a time. A result's promise settles when its batch has committed, so a job is done only after
 * that. While Postgres is away results wait here. A result that Postgres refuses is found by halving its batch, tried alone a few times,
 * and dropped, so that it never keeps others from being recorded.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  #entries: Entry[] = [];
  #flushing: Promise<void> | null = null;
  /** By `performance.now()`; null: Postgres takes results. */
  #stalledSince: number | null = null;
  #recorded = 0;
  readonly #suspects = new ExpiringMap<string, true>();
  readonly #closing = new AbortController();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** @throws RecorderClosedError, or the database's error where it refuses this very result */
  record(check: CheckRecord): Promise<RecordedOutcome> {
    return new Promise((resolve, reject) => {
      const counts = { busyTimes: 0, refusals: 0, recordedBefore: 0, notBefore: 0 };
      this.#entries.push({ check, resolve, reject, ...counts });
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
      const suspect = this.#takeSuspect();
      if (batch.length === 0 && suspect === null) {
        await this.#waitForDue();
        continue;
      }
      const startedAt = performance.now();
      const unfinished = batch.length === 0 ? [] : await this.#flush(batch);
      if (suspect !== null) unfinished.push(...(await this.#flushAlone(suspect)));
      const nextAt = nextBatchAt(startedAt, performance.now());
      if (this.#closing.signal.aborted) rejectAll(unfinished, closed());
      // Before newer results, so that those of one monitor keep their order.
      else this.#entries.unshift(...unfinished);
      if (this.#entries.length < MAX_BATCH_SIZE) await this.#waitUnlessClosing(nextAt - performance.now());
    }
    // In the same turn as the last look at the entries: a result that comes later starts anew.
    this.#flushing = null;
  }

  /** The oldest results, one of each monitor, without those of monitors that were just busy or had a result refused. */
  #takeBatch(): Entry[] {
    return this.#take(MAX_BATCH_SIZE, (entry) => !this.#isSuspect(entry));
  }

  /** The oldest result of a monitor that had one refused; null: none is due. */
  #takeSuspect(): Entry | null {
    if (this.#suspects.size === 0) return null;
    return this.#take(1, (entry) => this.#isSuspect(entry))[0] ?? null;
  }

  #take(limit: number, isWanted: (entry: Entry) => boolean): Entry[] {
    const now = this.#closing.signal.aborted ? Infinity : performance.now();
    const taken: Entry[] = [];
    const rest: Entry[] = [];
    const passed = new Set<string>();
    for (const entry of this.#entries) {
      const { monitorId } = entry.check;
      const isDue = entry.notBefore <= now && !passed.has(monitorId);
      // A monitor's later results stay behind its first one, whether that is taken now or left alone.
      passed.add(monitorId);
      (isDue && taken.length < limit && isWanted(entry) ? taken : rest).push(entry);
    }
    this.#entries = rest;
    return taken;
  }

  #isSuspect({ check }: Entry): boolean {
    return this.#suspects.size > 0 && this.#suspects.get(check.monitorId) === true;
  }

  async #waitForDue(): Promise<void> {
    const next = this.#entries.reduce((earliest, { notBefore }) => Math.min(earliest, notBefore), Infinity);
    // Not longer than a newcomer would wait for company: its monitor may be free.
    const delayMs = Math.min(Math.max(1, next - performance.now()), BUSY_WAIT_MS.first);
    await this.#waitUnlessClosing(delayMs);
  }

  async #waitUnlessClosing(ms: number): Promise<void> {
    await wait(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }

  /** Records one batch, however long Postgres is away. @returns the entries to be tried again */
  async #flush(batch: Entry[]): Promise<Entry[]> {
    let delayMs: number = RETRY_MS.first;
    for (let tries = 1; ; tries += 1, delayMs = Math.min(delayMs * 2, RETRY_MS.max)) {
      try {
        return await this.#write(batch);
      } catch (error) {
        this.#stalledSince ??= performance.now();
        if (isMissingPartition(error)) await this.#ensurePartitions();
        else if (isDataError(error) || (isRefusal(error) && tries % TRIES_BEFORE_ISOLATION === 0)) {
          const unfinished = await this.#isolate(batch, error);
          if (unfinished !== null) return unfinished;
        } else this.#options.logger.warn('Recording failed; trying again', { error, results: batch.length });
        if (this.#closing.signal.aborted) return rejectAll(batch, closed());
        await this.#waitUnlessClosing(delayMs);
      }
    }
  }

  /** One try. @returns the entries whose monitor is busy */
  async #write(batch: readonly Entry[]): Promise<Entry[]> {
    const startedAt = performance.now();
    const outcomes = await this.#unlessAbandoned(this.#options.record(batch.map((entry) => entry.check)));
    this.#options.onBatch(batch.length, performance.now() - startedAt);
    this.#stalledSince = null;
    const busy = settle(batch, outcomes);
    this.#recorded += batch.length - busy.length;
    const now = performance.now();
    for (const entry of busy) {
      entry.notBefore = now + Math.min(BUSY_WAIT_MS.first * 2 ** entry.busyTimes, BUSY_WAIT_MS.max);
      entry.busyTimes += 1;
    }
    return busy;
  }

  /** Writes a result that may be refused again, once. */
  async #flushAlone(entry: Entry): Promise<Entry[]> {
    try {
      const busy = await this.#write([entry]);
      if (busy.length === 0) this.#suspects.delete(entry.check.monitorId);
      return busy;
    } catch (error) {
      if (this.#closing.signal.aborted) return rejectAll([entry], closed());
      if (isMissingPartition(error)) await this.#ensurePartitions();
      else if (isRefusal(error)) return this.#refuse(entry, error);
      this.#stalledSince ??= performance.now();
      entry.notBefore = performance.now() + RETRY_MS.first;
      return [entry];
    }
  }

  /**
   * Finds the results that Postgres refuses, by halving the batch.
   * @returns the entries to be tried again; null where nothing could be recorded, so that all of the batch must be tried again
   */
  async #isolate(batch: readonly Entry[], cause: unknown): Promise<Entry[] | null> {
    const unfinished: Entry[] = [];
    const refused: { entry: Entry; error: unknown }[] = [];
    const parts = halves(batch);
    const [only] = batch;
    if (parts.length === 0 && only !== undefined) refused.push({ entry: only, error: cause });
    let isAnyRecorded = false;
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      try {
        unfinished.push(...(await this.#write(part)));
        isAnyRecorded = true;
      } catch (error) {
        const [first] = part;
        if (isMissingPartition(error)) await this.#ensurePartitions();
        if (isMissingPartition(error) || !isRefusal(error)) unfinished.push(...part);
        else if (part.length === 1 && first !== undefined) refused.push({ entry: first, error });
        else parts.unshift(...halves(part));
        const isRefusedAlways = !isAnyRecorded && refused.length >= MAX_REFUSED_IN_A_ROW;
        if (this.#closing.signal.aborted || (isRefusedAlways && !isDataError(error))) {
          if (!isAnyRecorded) return null;
          return [...unfinished, ...parts.flat(), ...refused.map(({ entry }) => entry)];
        }
      }
    }
    for (const { entry, error } of refused) unfinished.push(...this.#refuse(entry, error));
    return unfinished;
  }

  /** Postgres refused this result alone. @returns the entry where it is to be tried again, nothing where it is dropped */
  #refuse(entry: Entry, error: unknown): Entry[] {
    const { logger, onRefused, refusedWaitMs = REFUSED_WAIT_MS } = this.#options;
    const { monitorId } = entry.check;
    if (entry.refusals === 0) entry.recordedBefore = this.#recorded;
    entry.refusals += 1;
    this.#suspects.set(monitorId, true, SUSPECT_FOR_MS);
    const isFinal = entry.refusals >= MAX_REFUSALS && this.#recorded > entry.recordedBefore;
    if (isDataError(error) || isFinal) {
      logger.error('Dropped a result that Postgres refuses', { error, monitorId });
      onRefused?.();
      // Postgres answers; whether it takes other results is seen with the next one.
      this.#stalledSince = null;
      entry.reject(error);
      return [];
    }
    logger.warn('Postgres refuses a result; trying it again alone', { error, monitorId });
    entry.notBefore = performance.now() + refusedWaitMs * 2 ** Math.min(entry.refusals - 1, MAX_REFUSALS);
    return [entry];
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

  async #ensurePartitions(): Promise<void> {
    try {
      await this.#options.ensurePartitions();
    } catch (error) {
      this.#options.logger.warn('Making the partitions of events failed', { error });
    }
  }
}

/** Both halves of several entries; none of a single one. */
function halves(entries: readonly Entry[]): Entry[][] {
  if (entries.length < 2) return [];
  const middle = Math.ceil(entries.length / 2);
  return [entries.slice(0, middle), entries.slice(middle)];
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
