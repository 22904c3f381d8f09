import { setTimeout as wait } from 'node:timers/promises';
import { isDataError, isMissingPartition, isRefusal, isTemporary } from '@tocsin/db/database/errors';
import type { Logger } from '@tocsin/runtime/logger';
import { ExpiringMap } from '../targets/expiring-map.ts';
import { rejectClosed, type PendingResult } from './pending-result.ts';

interface QuarantineOptions {
  /** Writes results in one transaction and settles the recorded ones. @returns the results whose monitor is busy */
  readonly write: (results: readonly PendingResult[]) => Promise<PendingResult[]>;
  readonly ensurePartitions: () => Promise<void>;
  /** Counts all results recorded so far, in quarantine or not. */
  readonly recordedCount: () => number;
  readonly logger: Logger;
  readonly onRefused: () => void;
  /** Called when later results of some monitors may be written again. */
  readonly onReleased: () => void;
  /** Delay of the first retry, doubled each time. */
  readonly refusedWaitMs: number;
  readonly closing: AbortSignal;
}

/** Results that are written together, unless Postgres refuses them. */
interface Group {
  readonly results: readonly PendingResult[];
  /** The refusal, or null to try them together first. */
  readonly cause: unknown;
  /** Rounds in which no result could be recorded. */
  readonly rounds: number;
  /** Earliest next attempt, by `performance.now()`. */
  readonly notBefore: number;
}

interface Refusals {
  times: number;
  /** Number of refusals for a reason that does not pass by itself. */
  lasting: number;
  /** Number of recorded results at the first refusal. */
  readonly recordedBefore: number;
}

/** Maximum attempts with a single result before it is dropped. */
const MAX_REFUSALS = 5;
/** After a refusal, results of the monitor are written alone for this long. */
const SUSPECT_FOR_MS = 10 * 60_000;
/** After this many refused statements in a row, the results are not the cause. The number doubles in each round. */
const REFUSALS_IN_A_ROW = 16;
const MAX_DOUBLINGS = 5;
const LOOK_EVERY_MS = 100;

/**
 * Writes refused results alone or in halves of their batch. Drops a result with invalid data at once, and any other after PostgreSQL has
 * refused it five times while it recorded other results. Timeouts, deadlocks and a lack of resources never drop a result.
 */
export class Quarantine {
  readonly #options: QuarantineOptions;
  #groups: Group[] = [];
  /** Monitors in quarantine. Their later results wait. */
  readonly #monitors = new Set<string>();
  readonly #suspected: ExpiringMap<string, true> = new ExpiringMap();
  readonly #refusals = new WeakMap<PendingResult, Refusals>();
  #running: Promise<void> | null = null;

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#monitors.size;
  }

  async done(): Promise<void> {
    await this.#running;
  }

  includes(monitorId: string): boolean {
    return this.#monitors.has(monitorId);
  }

  /** Reports whether the results of this monitor must be written alone, because one was refused. */
  isSuspected(monitorId: string): boolean {
    return this.#suspected.get(monitorId) === true;
  }

  /** Adds results of monitors that are not in quarantine. @param cause the refusal of all of them, or null if they were not tried */
  add(results: readonly PendingResult[], cause: unknown): void {
    for (const { check } of results) this.#monitors.add(check.monitorId);
    this.#groups.push({ results, cause, rounds: 0, notBefore: 0 });
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // `add` must set `#running` first.
    await Promise.resolve();
    while (this.#groups.length > 0) {
      const now = performance.now();
      const group = this.#groups.find(({ notBefore }) => notBefore <= now);
      if (this.#options.closing.aborted) this.#close();
      else if (group === undefined) await this.#waitForDue();
      else {
        this.#groups = this.#groups.filter((other) => other !== group);
        this.#groups.push(...(await this.#work(group)));
      }
    }
    this.#running = null;
  }

  async #waitForDue(): Promise<void> {
    const next = Math.min(...this.#groups.map(({ notBefore }) => notBefore));
    const delayMs = Math.min(Math.max(1, next - performance.now()), LOOK_EVERY_MS);
    await wait(delayMs, undefined, { signal: this.#options.closing }).catch(() => undefined);
  }

  #close(): void {
    for (const { results } of this.#groups.splice(0)) {
      this.#release(results);
      rejectClosed(results);
    }
  }

  /** Writes a group. Splits a refused one in halves, breadth first, so that most of it is recorded soon. @returns the rest */
  async #work(group: Group): Promise<Group[]> {
    const { closing, ensurePartitions, refusedWaitMs } = this.#options;
    const refused: { result: PendingResult; error: unknown }[] = [];
    const left: Group[] = [];
    const queue: (readonly PendingResult[])[] = [];
    const enqueue = (results: readonly PendingResult[], error: unknown): void => {
      const [first] = results;
      const middle = Math.ceil(results.length / 2);
      if (error === null) queue.push(results);
      else if (results.length === 1 && first !== undefined) refused.push({ result: first, error });
      else queue.push(results.slice(0, middle), results.slice(middle));
    };
    enqueue(group.results, group.cause);
    let failures = 0;
    for (let results = queue.shift(); results !== undefined; results = queue.shift()) {
      try {
        left.push(...(await this.#write(results)));
        failures = -Infinity;
      } catch (error) {
        if (closing.aborted) {
          const rest = group.results.filter(({ check }) => this.includes(check.monitorId));
          return [{ ...group, results: rest, notBefore: 0 }];
        }
        if (isMissingPartition(error)) await ensurePartitions();
        if (!isRefusal(error)) left.push(retry(results, refusedWaitMs));
        else enqueue(results, error);
        failures += isDataError(error) ? 0 : 1;
      }
      if (failures >= REFUSALS_IN_A_ROW * 2 ** Math.min(group.rounds, MAX_DOUBLINGS))
        return [{ ...retry(group.results, doubled(refusedWaitMs, group.rounds)), rounds: group.rounds + 1 }];
    }
    return [...left, ...refused.flatMap(({ result, error }) => this.#refuse(result, error))];
  }

  async #write(results: readonly PendingResult[]): Promise<Group[]> {
    const busy = await this.#options.write(results);
    const recorded = results.filter((result) => !busy.includes(result));
    this.#release(recorded);
    const [only] = recorded;
    if (results.length === 1 && only !== undefined) this.#suspected.delete(only.check.monitorId);
    const notBefore = Math.max(...busy.map((result) => result.notBefore));
    return busy.length === 0 ? [] : [{ results: busy, cause: null, rounds: 0, notBefore }];
  }

  /** Decides about a refused result. @returns the result to be retried, or nothing if it is dropped */
  #refuse(result: PendingResult, error: unknown): Group[] {
    const { logger, onRefused, refusedWaitMs, recordedCount } = this.#options;
    const { monitorId } = result.check;
    const refusals = this.#refusals.get(result) ?? { times: 0, lasting: 0, recordedBefore: recordedCount() };
    this.#refusals.set(result, refusals);
    refusals.times += 1;
    if (!isTemporary(error)) refusals.lasting += 1;
    this.#suspected.set(monitorId, true, SUSPECT_FOR_MS);
    const isPersistent = refusals.lasting >= MAX_REFUSALS && recordedCount() > refusals.recordedBefore;
    if (isDataError(error) || (isPersistent && !isTemporary(error))) {
      logger.error('Dropped a result that Postgres refuses', { error, monitorId });
      this.#release([result]);
      onRefused();
      result.reject(error);
      return [];
    }
    logger.warn('Postgres rejects a result. Trying it again alone.', { error, monitorId });
    return [retry([result], doubled(refusedWaitMs, refusals.times - 1))];
  }

  #release(results: readonly PendingResult[]): void {
    for (const { check } of results) this.#monitors.delete(check.monitorId);
    this.#options.onReleased();
  }
}

function retry(results: readonly PendingResult[], waitMs: number): Group {
  return { results, cause: null, rounds: 0, notBefore: performance.now() + waitMs };
}

function doubled(waitMs: number, times: number): number {
  return waitMs * 2 ** Math.min(times, MAX_DOUBLINGS);
}
