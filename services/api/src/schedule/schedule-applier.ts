import type { Logger } from '@tocsin/runtime/logger';
import { withTimeout } from '@tocsin/runtime/timeout';
import { currentTraceparent } from '@tocsin/runtime/tracing';
import { OutageLog } from './outage-log.ts';

const BATCH = 500;
const MAX_PENDING = 50_000;
const STOP_WITHIN_MS = 5_000;

/** By monitor, the `traceparent` of the last request that changed it. */
export type ChangedMonitors = ReadonlyMap<string, string | undefined>;

export interface ScheduleApplierOptions {
  /** Applies the schedules of these monitors to the queue, see `syncSchedules`. */
  readonly sync: (region: string, changed: ChangedMonitors) => Promise<number>;
  readonly onSynced?: (region: string, applied: number) => void;
  readonly logger: Logger;
  readonly maxPending?: number;
  /** Time limit for the rest in `stop`. Defaults to 5 s. */
  readonly stopWithinMs?: number;
}

/** Applies schedules right after a commit, without delaying the request. The reconciler handles schedules that fail or do not fit. */
export class ScheduleApplier {
  readonly #options: ScheduleApplierOptions;
  readonly #outages: OutageLog;
  readonly #pending = new Map<string, Map<string, string | undefined>>();
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: ScheduleApplierOptions) {
    this.#options = options;
    this.#outages = new OutageLog(options.logger, 'Applying schedules');
  }

  /** Enqueues a monitor that the current request created or changed. Never throws, never waits. */
  enqueue(monitorId: string, regions: readonly string[]): void {
    if (this.#countPending() + regions.length > (this.#options.maxPending ?? MAX_PENDING)) {
      this.#options.logger.warn('Too many schedules to apply. Leaving them to the reconciler.');
      this.#pending.clear();
      return;
    }
    const traceparent = currentTraceparent();
    for (const region of regions) {
      const waiting = this.#pending.get(region);
      if (waiting) waiting.set(monitorId, traceparent);
      else this.#pending.set(region, new Map([[monitorId, traceparent]]));
      if (!this.#running.has(region)) this.#running.set(region, this.#drain(region));
    }
  }

  /** Applies the rest, within `stopWithinMs`. */
  async stop(): Promise<void> {
    const running = Promise.all(this.#running.values());
    await withTimeout(running, this.#options.stopWithinMs ?? STOP_WITHIN_MS, null);
    this.#pending.clear();
  }

  #countPending(): number {
    let count = 0;
    for (const waiting of this.#pending.values()) count += waiting.size;
    return count;
  }

  async #drain(region: string): Promise<void> {
    // Waits one microtask, so that changes enqueued by the same synchronous code join the first batch.
    await Promise.resolve();
    for (let batch = this.#take(region); batch.size > 0; batch = this.#take(region)) {
      try {
        const applied = await this.#options.sync(region, batch);
        this.#outages.worked(region);
        this.#options.onSynced?.(region, applied);
      } catch (error) {
        this.#outages.failed(region, error);
        // The rest would fail too, and slowly if the store hangs.
        this.#pending.delete(region);
      }
    }
    this.#running.delete(region);
  }

  #take(region: string): ChangedMonitors {
    const waiting = this.#pending.get(region);
    if (waiting === undefined) return new Map();
    const batch = new Map([...waiting].slice(0, BATCH));
    for (const id of batch.keys()) waiting.delete(id);
    if (waiting.size === 0) this.#pending.delete(region);
    return batch;
  }
}
