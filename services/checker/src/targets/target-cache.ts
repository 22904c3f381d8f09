import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { batchCalls, type BatchLimits } from '@tocsin/runtime/batch-calls';
import { ExpiringMap, keepForInterval } from './expiring-map.ts';

/** Reads many monitors at once. Deleted ones are missing from the result. */
export interface TargetSource {
  /** An unreadable target has an error as its value. */
  readonly load: (monitorIds: readonly string[]) => Promise<ReadonlyMap<string, CheckTarget | Error>>;
  readonly readRevisions: (monitorIds: readonly string[]) => Promise<ReadonlyMap<string, number>>;
}

/** Above this number, the target that was cached first is dropped. */
const MAX_TARGETS = 200_000;
const LOADS = { maxConcurrent: 2, maxSize: 500 };
const REVISION_READS = { maxConcurrent: 1, maxSize: 2_000 };

/** Caches monitors at the revision of a job or later, while they are checked. Concurrent loads share a query. */
export class TargetCache {
  readonly #load: (monitorId: string) => Promise<CheckTarget | Error | null>;
  readonly #readRevision: (monitorId: string) => Promise<number | null>;
  readonly #targets: ExpiringMap<string, CheckTarget>;
  readonly #waiting = new Map<string, Promise<CheckTarget | null>>();

  constructor({ load, readRevisions }: TargetSource, now?: () => number) {
    this.#load = readTogether(load, LOADS);
    this.#readRevision = readTogether(readRevisions, REVISION_READS);
    this.#targets = new ExpiringMap(now, MAX_TARGETS);
  }

  get size(): number {
    return this.#targets.size;
  }

  /** Returns the monitor at `revision` or later, or null if it is deleted. */
  async get(monitorId: string, revision: number): Promise<CheckTarget | null> {
    const cached = this.#targets.get(monitorId);
    if (cached && cached.revision >= revision) return cached;
    const underWay = this.#waiting.get(monitorId);
    if (underWay) {
      const target = await underWay;
      // A load that started before a change may return an older revision.
      if (target && target.revision >= revision) return target;
    }
    const loading = this.#loadOne(monitorId).finally(() => {
      if (this.#waiting.get(monitorId) === loading) this.#waiting.delete(monitorId);
    });
    this.#waiting.set(monitorId, loading);
    return loading;
  }

  /** Returns the current monitor, or null if it is deleted. Loads it only if it has changed. */
  async latest(monitorId: string): Promise<CheckTarget | null> {
    const revision = await this.#readRevision(monitorId);
    if (revision !== null) return this.get(monitorId, revision);
    this.evict(monitorId);
    return null;
  }

  evict(monitorId: string): void {
    this.#targets.delete(monitorId);
    this.#waiting.delete(monitorId);
  }

  async #loadOne(monitorId: string): Promise<CheckTarget | null> {
    const target = await this.#load(monitorId);
    if (target instanceof Error) throw target;
    if (target === null) this.#targets.delete(monitorId);
    else this.#targets.set(monitorId, target, keepForInterval(target.intervalSeconds));
    return target;
  }
}

function readTogether<Result>(
  read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Result>>,
  limits: BatchLimits,
): (id: string) => Promise<Result | null> {
  return batchCalls(async (ids) => {
    const found = await read(ids);
    return ids.map((id) => found.get(id) ?? null);
  }, limits);
}
