import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { ExpiringMap, keepForInterval } from './expiring-map.ts';

/** Loads many targets at once; those that are gone are not in the answer, one that cannot be read is its error. */
export type LoadTargets = (monitorIds: readonly string[]) => Promise<Map<string, CheckTarget | Error>>;

/** Beyond this many, the target cached longest makes room. */
const MOST_TARGETS = 200_000;
/** How many targets one query loads. */
const LOAD_BATCH = 500;

/**
 * Monitors by id, as good as the revision that a job names (design §4 "Schedules"). Loads of one moment share a query, so
 * that a checker that has just started does not ask once per monitor. Those that are checked no more are forgotten.
 */
export class TargetCache {
  readonly #load: LoadTargets;
  readonly #targets: ExpiringMap<string, CheckTarget>;
  readonly #waiting = new Map<string, Promise<CheckTarget | null>>();
  #batch: { ids: string[]; loaded: Promise<Map<string, CheckTarget | Error>> } | null = null;

  /** @param now milliseconds of a monotonic clock */
  constructor(load: LoadTargets, now?: () => number) {
    this.#load = load;
    this.#targets = new ExpiringMap(now);
  }

  /** How many monitors it knows. */
  get size(): number {
    return this.#targets.size;
  }

  /** The monitor at `revision` or later, or null where it is gone. */
  async get(monitorId: string, revision: number): Promise<CheckTarget | null> {
    const cached = this.#targets.get(monitorId);
    if (cached && cached.revision >= revision) return cached;
    const underWay = this.#waiting.get(monitorId);
    if (underWay) {
      const target = await underWay;
      // What was asked for before a change may be older than what is wanted now.
      if (target && target.revision >= revision) return target;
    }
    const loading = this.#loadOne(monitorId).finally(() => {
      if (this.#waiting.get(monitorId) === loading) this.#waiting.delete(monitorId);
    });
    this.#waiting.set(monitorId, loading);
    return loading;
  }

  /** Forgets a monitor, so that the next `get` reads it again. */
  evict(monitorId: string): void {
    this.#targets.delete(monitorId);
    this.#waiting.delete(monitorId);
  }

  async #loadOne(monitorId: string): Promise<CheckTarget | null> {
    const loaded = await this.#joinBatch(monitorId);
    const target = loaded.get(monitorId) ?? null;
    if (target === null) {
      this.#targets.delete(monitorId);
      return null;
    }
    if (target instanceof Error) throw target;
    this.#targets.set(monitorId, target, keepForInterval(target.intervalSeconds));
    if (this.#targets.size > MOST_TARGETS) this.#targets.deleteOldest();
    return target;
  }

  #joinBatch(monitorId: string): Promise<Map<string, CheckTarget | Error>> {
    if (this.#batch && this.#batch.ids.length < LOAD_BATCH) {
      this.#batch.ids.push(monitorId);
      return this.#batch.loaded;
    }
    const ids = [monitorId];
    const loaded = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      if (this.#batch?.ids === ids) this.#batch = null;
      return this.#load(ids);
    });
    this.#batch = { ids, loaded };
    return loaded;
  }
}
