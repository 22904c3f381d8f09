import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { ExpiringMap, keepForInterval } from './expiring-map.ts';
import { shareQueries } from './share-queries.ts';

/** Loads many targets at once. Deleted ones are missing in the result; an unreadable one is its error. */
export type LoadTargets = (monitorIds: readonly string[]) => Promise<Map<string, CheckTarget | Error>>;

/** Beyond this many, the target that was cached first is dropped. */
const MAX_TARGETS = 200_000;
const LOADS = { maxQueries: 2, maxKeys: 500 };

/** Caches monitors by id, at the revision of a job or later, until they are no longer checked. Concurrent loads share a query. */
export class TargetCache {
  readonly #load: (monitorId: string) => Promise<CheckTarget | Error | null>;
  readonly #targets: ExpiringMap<string, CheckTarget>;
  readonly #waiting = new Map<string, Promise<CheckTarget | null>>();

  constructor(load: LoadTargets, now?: () => number) {
    this.#load = shareQueries(async (ids) => {
      const loaded = await load(ids);
      return ids.map((id) => loaded.get(id) ?? null);
    }, LOADS);
    this.#targets = new ExpiringMap(now, MAX_TARGETS);
  }

  get size(): number {
    return this.#targets.size;
  }

  /** The monitor at `revision` or later; null if it is deleted. */
  async get(monitorId: string, revision: number): Promise<CheckTarget | null> {
    const cached = this.#targets.get(monitorId);
    if (cached && cached.revision >= revision) return cached;
    const underWay = this.#waiting.get(monitorId);
    if (underWay) {
      const target = await underWay;
      // A load that started before a change may be older than `revision`.
      if (target && target.revision >= revision) return target;
    }
    const loading = this.#loadOne(monitorId).finally(() => {
      if (this.#waiting.get(monitorId) === loading) this.#waiting.delete(monitorId);
    });
    this.#waiting.set(monitorId, loading);
    return loading;
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
