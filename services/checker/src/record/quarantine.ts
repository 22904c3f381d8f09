import { setTimeout as wait } from 'node:timers/promises';
import { isDataError, isMissingPartition, isRefusal, isTemporary } from '@tocsin/db/database/errors';
import type { Logger } from '@tocsin/runtime/logger';
import { ExpiringMap } from '../targets/expiring-map.ts';
import { type Entry, RecorderClosedError, rejectAll } from './pending-result.ts';

interface SuspectsOptions {
  /** Writes the entries in one transaction and settles those that are recorded. @returns those whose monitor is busy */
  readonly write: (entries: readonly Entry[]) => Promise<Entry[]>;
  /** Never rejects. */
  readonly ensurePartitions: () => Promise<void>;
  /** How many results have been recorded so far, these and all others. */
  readonly recordedCount: () => number;
  readonly logger: Logger;
  /** Called for each result that is dropped because Postgres refuses it. */
  readonly onRefused: () => void;
  /** Called when monitors are no longer held, so that their later results may be written. */
  readonly onReleased: () => void;
  /** How long a result that was refused waits before it is tried again, times two for each time. */
  readonly refusedWaitMs: number;
  readonly closing: AbortSignal;
}

/** Entries that are written together until they are refused. */
interface Part {
  readonly entries: readonly Entry[];
  /** Why Postgres has just refused them together; null: to be tried together first. */
  readonly cause: unknown;
  /** How often none of it could be recorded. */
  readonly rounds: number;
  /** Not tried before, by `performance.now()`. */
  readonly notBefore: number;
}

/** What is known of a result that was refused alone. */
interface Refusals {
  /** How often it was refused, time-outs included. */
  times: number;
  /** How often for a reason that does not pass by itself. */
  lasting: number;
  /** How many results had been recorded when it was refused first. */
  recordedBefore: number;
}

/** How often one result is tried alone before it is dropped. */
const MAX_REFUSALS = 5;
/** Results of a monitor that had one refused are written alone for this long. */
const SUSPECT_FOR_MS = 10 * 60_000;
/** Where so many statements in a row are refused and none is recorded, the cause is not in the results. Twice as many in the next round. */
const REFUSALS_IN_A_ROW = 16;
const MAX_DOUBLINGS = 5;
const LOOK_EVERY_MS = 100;

/**
 * Writes the results that Postgres refuses, apart from all others and in transactions of their own. Batches are halved until the
 * refused results are found. A result with invalid data is dropped at once. Any other result is dropped after five lasting refusals, once
 * other results have been recorded. A time-out, a deadlock or a lack of resources never drops a result.
 */
export class Suspects {
  readonly #options: SuspectsOptions;
  #parts: Part[] = [];
  /** Monitors with an entry here: their later results wait. */
  readonly #held = new Set<string>();
  readonly #suspected = new ExpiringMap<string, true>();
  readonly #refusals = new WeakMap<Entry, Refusals>();
  #running: Promise<void> | null = null;

  constructor(options: SuspectsOptions) {
    this.#options = options;
  }

  /** How many entries are here. */
  get size(): number {
    return this.#held.size;
  }

  /** Resolves when nothing is left here. */
  async done(): Promise<void> {
    await this.#running;
  }

  holds({ check }: Entry): boolean {
    return this.#held.has(check.monitorId);
  }

  /** Whether this result must be written alone, since one of its monitor was refused. */
  isSuspect({ check }: Entry): boolean {
    return this.#suspected.get(check.monitorId) === true;
  }

  /**
   * Takes over entries of monitors that have none here.
   * @param cause why Postgres refused them together; null: they were not tried
   */
  add(entries: readonly Entry[], cause: unknown): void {
    for (const { check } of entries) this.#held.add(check.monitorId);
    this.#parts.push({ entries, cause, rounds: 0, notBefore: 0 });
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // Not in the turn of `add`: `#running` is set by then.
    await Promise.resolve();
    while (this.#parts.length > 0) {
      const part = this.#takeDue();
      if (this.#options.closing.aborted) this.#close(part);
      else if (part === null) await this.#waitForDue();
      else this.#parts.push(...(await this.#work(part)));
    }
    this.#running = null;
  }

  #takeDue(): Part | null {
    const now = performance.now();
    const part = this.#parts.find(({ notBefore }) => notBefore <= now) ?? null;
    if (part !== null) this.#parts = this.#parts.filter((other) => other !== part);
    return part;
  }

  async #waitForDue(): Promise<void> {
    const next = Math.min(...this.#parts.map(({ notBefore }) => notBefore));
    const delayMs = Math.min(Math.max(1, next - performance.now()), LOOK_EVERY_MS);
    await wait(delayMs, undefined, { signal: this.#options.closing }).catch(() => undefined);
  }

  #close(taken: Part | null): void {
    const parts = taken === null ? this.#parts : [taken, ...this.#parts];
    this.#parts = [];
    for (const { entries } of parts) {
      this.#release(entries);
      rejectAll(entries, new RecorderClosedError());
    }
  }

  /** Writes a part, in halves where it is refused, breadth first: most of it is recorded soon. @returns what is left of it */
  async #work(part: Part): Promise<Part[]> {
    const refused: { entry: Entry; error: unknown }[] = [];
    const left: Part[] = [];
    const queue = this.#split(part.entries, part.cause, refused);
    let failures = 0;
    for (let entries = queue.shift(); entries !== undefined; entries = queue.shift()) {
      try {
        left.push(...(await this.#write(entries)));
        failures = -Infinity;
      } catch (error) {
        if (this.#options.closing.aborted) {
          return [{ ...part, entries: part.entries.filter((entry) => this.holds(entry)), notBefore: 0 }];
        }
        if (isMissingPartition(error)) await this.#options.ensurePartitions();
        if (isMissingPartition(error) || !isRefusal(error))
          left.push(retry(entries, this.#options.refusedWaitMs));
        else queue.push(...this.#split(entries, error, refused));
        failures += isDataError(error) ? 0 : 1;
      }
      if (failures >= REFUSALS_IN_A_ROW * 2 ** Math.min(part.rounds, MAX_DOUBLINGS)) {
        return [this.#nextRound(part)];
      }
    }
    return [...left, ...refused.flatMap(({ entry, error }) => this.#refuse(entry, error))];
  }

  /** What to write next of entries that were refused together; one that was refused alone is noted. */
  #split(
    entries: readonly Entry[],
    cause: unknown,
    refused: { entry: Entry; error: unknown }[],
  ): (readonly Entry[])[] {
    if (cause === null) return [entries];
    const [first] = entries;
    if (entries.length === 1 && first !== undefined) {
      refused.push({ entry: first, error: cause });
      return [];
    }
    const middle = Math.ceil(entries.length / 2);
    return [entries.slice(0, middle), entries.slice(middle)];
  }

  /** @returns what of it is busy */
  async #write(entries: readonly Entry[]): Promise<Part[]> {
    const busy = await this.#options.write(entries);
    const recorded = entries.filter((entry) => !busy.includes(entry));
    this.#release(recorded);
    const [only] = recorded;
    if (entries.length === 1 && only !== undefined) this.#suspected.delete(only.check.monitorId);
    const notBefore = Math.max(...busy.map((entry) => entry.notBefore));
    return busy.length === 0 ? [] : [{ entries: busy, cause: null, rounds: 0, notBefore }];
  }

  /** Nothing of it could be recorded: all of it waits, and is tried together first. */
  #nextRound({ entries, rounds }: Part): Part {
    const waitMs = this.#options.refusedWaitMs * 2 ** Math.min(rounds, MAX_DOUBLINGS);
    return { entries, cause: null, rounds: rounds + 1, notBefore: performance.now() + waitMs };
  }

  /** Postgres refused this result alone. @returns it where it is to be tried again, nothing where it is dropped */
  #refuse(entry: Entry, error: unknown): Part[] {
    const { logger, onRefused, refusedWaitMs, recordedCount } = this.#options;
    const { monitorId } = entry.check;
    const refusals = this.#refusals.get(entry) ?? { times: 0, lasting: 0, recordedBefore: recordedCount() };
    this.#refusals.set(entry, refusals);
    refusals.times += 1;
    if (!isTemporary(error)) refusals.lasting += 1;
    this.#suspected.set(monitorId, true, SUSPECT_FOR_MS);
    const isPersistent = refusals.lasting >= MAX_REFUSALS && recordedCount() > refusals.recordedBefore;
    const isFinal = isPersistent && !isTemporary(error);
    if (isDataError(error) || isFinal) {
      logger.error('Dropped a result that Postgres refuses', { error, monitorId });
      this.#release([entry]);
      onRefused();
      entry.reject(error);
      return [];
    }
    logger.warn('Postgres refuses a result; trying it again alone', { error, monitorId });
    return [retry([entry], refusedWaitMs * 2 ** Math.min(refusals.times - 1, MAX_DOUBLINGS))];
  }

  #release(entries: readonly Entry[]): void {
    for (const { check } of entries) this.#held.delete(check.monitorId);
    this.#options.onReleased();
  }
}

function retry(entries: readonly Entry[], waitMs: number): Part {
  return { entries, cause: null, rounds: 0, notBefore: performance.now() + waitMs };
}
