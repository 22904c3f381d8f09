import type { Logger } from '@tocsin/runtime/logger';
import type { Metrics } from '@tocsin/runtime/metrics';
import { Gauge } from 'prom-client';
import type { RegionLoads } from './region-loads.ts';

const FRESH_FOR_MS = 5_000;
/** Series of each gauge; the regions with the most monitors come first. */
const MOST_REGIONS = 100;

export interface RegionMetricsOptions {
  readonly registry: Metrics;
  /** Monitors of every account, by region. */
  readonly countMonitors: () => Promise<ReadonlyMap<string, number>>;
  readonly loads: RegionLoads;
  readonly logger: Logger;
}

/**
 * Shows each region that has monitors, and how many workers take its checks: an alert on monitors without workers finds
 * what nobody checks. What cannot be read is left out, and never breaks the scrape.
 */
export function registerRegionMetrics(options: RegionMetricsOptions): void {
  const { registry, loads } = options;
  const readMonitors = cached(options);
  const gauge = (name: string, help: string, read: () => Promise<Map<string, number>>): void => {
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ['region'],
        registers: [],
        async collect() {
          this.reset();
          for (const [region, value] of await read()) this.set({ region }, value);
        },
      }),
    );
  };
  gauge('tocsin_region_monitors', 'Monitors that a region is to check.', readMonitors);
  gauge(
    'tocsin_region_workers',
    'Checkers that take the checks of a region with monitors; absent where its queue does not answer.',
    async () => {
      const read = await loads.read([...(await readMonitors()).keys()]);
      return new Map([...read].flatMap(([region, load]) => (load ? [[region, load.workers] as const] : [])));
    },
  );
}

/** The largest regions, read at most every five seconds; none where Postgres does not answer. */
function cached({ countMonitors, logger }: RegionMetricsOptions): () => Promise<Map<string, number>> {
  let known: { readonly at: number; readonly monitors: Promise<Map<string, number>> } | undefined;
  return () => {
    if (known && performance.now() - known.at < FRESH_FOR_MS) return known.monitors;
    const monitors = countMonitors().then(
      (counts) => new Map([...counts].toSorted(([, one], [, other]) => other - one).slice(0, MOST_REGIONS)),
      (error: unknown) => {
        logger.debug('Could not count the monitors of regions', { error });
        return new Map<string, number>();
      },
    );
    known = { at: performance.now(), monitors };
    return monitors;
  };
}
