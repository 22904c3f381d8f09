import type { RegionLoad } from '@tocsin/queue/queue-load';
import type { Logger } from '@tocsin/runtime/logger';

/** The number of workers changes slowly, and counting them lists every client of the store. */
const FRESH_FOR_MS = 5_000;
const MAX_REGIONS = 100;

export interface RegionLoadsOptions {
  /** Rejects in bounded time if the region's queue does not respond. */
  readonly read: (region: string) => Promise<RegionLoad>;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** The loads of regions, at most five seconds old. */
export class RegionLoads {
  readonly #options: RegionLoadsOptions;
  readonly #readings = new Map<string, { readonly at: number; readonly load: Promise<RegionLoad | null> }>();

  constructor(options: RegionLoadsOptions) {
    this.#options = options;
  }

  /** Null if the region's queue does not respond. Never rejects. */
  async read(regions: readonly string[]): Promise<Map<string, RegionLoad | null>> {
    const now = (this.#options.now ?? Date.now)();
    for (const [region, { at }] of this.#readings) {
      if (now - at >= FRESH_FOR_MS) this.#readings.delete(region);
    }
    const loads = regions
      .slice(0, MAX_REGIONS)
      .map(async (region) => [region, await this.#load(region, now)] as const);
    return new Map(await Promise.all(loads));
  }

  #load(region: string, now: number): Promise<RegionLoad | null> {
    const known = this.#readings.get(region);
    if (known) return known.load;
    const load = this.#options.read(region).catch((error: unknown) => {
      this.#options.logger.debug('Could not read the load of a region', { region, error });
      return null;
    });
    this.#readings.set(region, { at: now, load });
    return load;
  }
}
