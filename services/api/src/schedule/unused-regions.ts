import { isRegionUsed, unapplyRegion } from '@tocsin/db/monitor-regions/schedules';
import type { Logger } from '@tocsin/runtime/logger';
import type { ScheduleStores } from './sync-schedules.ts';

const MAX_BATCH_SIZE = 100;

/** Regions that monitors no longer use. Anyone may name any region, so unused ones must not stay in the store forever. */
export class UnusedRegions {
  readonly #stores: ScheduleStores;
  readonly #logger: Logger;
  #used: ReadonlySet<string> = new Set();
  readonly #unused = new Set<string>();

  constructor(stores: ScheduleStores, logger: Logger) {
    this.#stores = stores;
    this.#logger = logger;
  }

  /** Finds regions in the queue's store, such as those of an earlier leader. Finds none while it is unavailable. */
  async seek(): Promise<void> {
    const regions = await this.#stores.producers.listRegions().catch(() => []);
    for (const region of regions) this.#unused.add(region);
  }

  /** @param used regions that are in use @returns regions to remove now. Call `add` for those that could not be removed */
  take(used: ReadonlySet<string>): string[] {
    for (const region of this.#used) this.#unused.add(region);
    this.#used = used;
    for (const region of used) this.#unused.delete(region);
    const taken = [...this.#unused].slice(0, MAX_BATCH_SIZE);
    for (const region of taken) this.#unused.delete(region);
    return taken;
  }

  add(region: string): void {
    this.#unused.add(region);
  }

  /** Deletes the queues of a region, unless monitors use it or checkers serve it. @returns whether it did */
  async remove(region: string): Promise<boolean> {
    const { db, producers } = this.#stores;
    if (await isRegionUsed(db, region)) return false;
    if ((await producers.countCheckWorkers(region)) > 0) return false;
    await producers.removeRegion(region);
    this.#logger.info('Removed the queues of an unused region', { region });
    // A monitor that was assigned meanwhile may have lost its schedule.
    await unapplyRegion(db, region);
    return true;
  }
}
