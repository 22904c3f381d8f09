import { setTimeout as wait } from 'node:timers/promises';
import { isDataError, isMissingPartition, isRefusal, isTemporary } from '@tocsin/db/database/errors';
import type { Logger } from '@tocsin/runtime/logger';
import { ExpiringMap } from '../targets/expiring-map.ts';
import { rejectClosed, type PendingResult } from './pending-result.ts';

interface QuarantineOptions {
  /** Writes the results in one transaction and settles those that are recorded. @returns those whose monitor is busy */
  readonly write: (results: readonly PendingResult[]) => Promise<PendingResult[]>;
  /** Never rejects. */
  readonly ensurePartitions: () => Promise<void>;
  /** How many results have been recorded so far, in quarantine or not. */
  readonly recordedCount: () => number;
  readonly logger: Logger;
  readonly onRefused: () => void;
  /** Called when the later results of some monitors may be written again. */
  readonly onReleased: () => void;
  /** How long a refused result waits before it is retried, doubled each time. */
  readonly refusedWaitMs: number;
  readonly closing: AbortSignal;
}

/** Results that are written together until Postgres refuses them. */
interface Group {
  readonly results: readonly PendingResult[];
  /** The error of the refusal; null: to be tried together first. */
  readonly cause: unknown;
  /** How many times none of its results could be recorded. */
  readonly rounds: number;
  /** Not tried before this moment, by `performance.now()`. */
  readonly notBefore: number;
}

/** The history of a result that was refused alone. */
interface Refusals {
  times: number;
  /** Only those for a reason that does not pass by itself. */
  lasting: number;
  /** How many results had been recorded at the first refusal. */
  readonly recordedBefore: number;
}

/** How many times one result is tried alone before it is dropped. */
const MAX_REFUSALS = 5;
/** For this long after a refusal, the results of its monitor are written alone. */
const SUSPECT_FOR_MS = 10 * 60_000;
/** After this many refused statements in a row, the cause is not in the results. Doubled in each round. */
const REFUSALS_IN_A_ROW = 16;
const MAX_DOUBLINGS = 5;
const LOOK_EVERY_MS = 100;

/**
 * Writes the results that Postgres refuses, alone or in halves of their batch. A result with invalid data is dropped at once, any other
 * after five lasting refusals, once other results have been recorded. A time-out, a deadlock or a lack of resources never drops one.
 */
export class Quarantine {
  readonly #options: QuarantineOptions;
  #groups: Group[] = [];
  /** Monitors with a result in quarantine: their later results wait. */
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

  /** Whether the results of this monitor must be written alone, because one of them was refused. */
  isSuspected(monitorId: string): boolean {
    return this.#suspected.get(monitorId) === true;
  }

  /** Takes over results of monitors that have none in quarantine. @param cause why Postgres refused them together; null: not tried */
  add(results: readonly PendingResult[], cause: unknown): void {
    for (const { check } of results) this.#monitors.add(check.monitorId);
    this.#groups.push({ results, cause, rounds: 0, notBefore: 0 });
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // Not in the turn of `add`, so that `#running` is set.
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

  /** Writes a group, in halves if it is refused, breadth first: so most of it is recorded soon. @returns what is left of it */
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

  /** Handles a result that Postgres refused alone. @returns it if it is to be retried, nothing if it is dropped */
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
    logger.warn('Postgres refuses a result; trying it again alone', { error, monitorId });
    return [retry([result], doubled(refusedWaitMs, refusals.times - 1))];
  }

  #release(results: readonly PendingResult[]): void {
    for (const { check } of results) this.#monitors.delete(check.monitorId);
    this.#options.onReleased();
  }
}

/** The results are to be tried together first, after a wait. */
function retry(results: readonly PendingResult[], waitMs: number): Group {
  return { results, cause: null, rounds: 0, notBefore: performance.now() + waitMs };
}

function doubled(waitMs: number, times: number): number {
  return waitMs * 2 ** Math.min(times, MAX_DOUBLINGS);
}
