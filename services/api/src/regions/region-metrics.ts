import { type JobKind, JOBS } from '@tocsin/contracts/jobs';
import type { WatchedRegion } from '@tocsin/db/monitor-regions/read-regions';
import type { LateRegions } from '@tocsin/db/regions/late-regions';
import type { QueueDepth, RegionLoad } from '@tocsin/queue/queue-load';
import type { Logger } from '@tocsin/runtime/logger';
import {
  createReading,
  type Metrics,
  type Reading,
  registerReadGauge,
  type Sample,
} from '@tocsin/runtime/metrics';
import type { RegionLoads } from './region-loads.ts';

/** Maximum regions in each gauge. Regions with the most monitors come first. */
const MAX_REGIONS = 100;

export interface RegionMetricsOptions {
  readonly registry: Metrics;
  readonly watchRegions: (limit: number) => Promise<ReadonlyMap<string, WatchedRegion>>;
  /** Reads for each region with canaries whether it is isolated for any account. */
  readonly watchNetworks: (limit: number) => Promise<ReadonlyMap<string, boolean>>;
  readonly loads: Pick<RegionLoads, 'read'>;
  readonly lateRegions: Reading<LateRegions>;
  /** Rejects in bounded time if the queue's store does not respond. Region null selects queues without a region. */
  readonly readDepth: (kind: JobKind, region: string | null) => Promise<QueueDepth>;
  readonly logger: Logger;
}

/** Exports overdue monitors, queue depths, and isolated regions. Omits values that cannot be read. */
export function registerRegionMetrics(options: RegionMetricsOptions): void {
  const { registry, watchRegions, watchNetworks, loads, lateRegions, logger } = options;
  const regions = createReading({
    what: 'the regions of the monitors',
    read: () => watchRegions(MAX_REGIONS),
    logger,
  });
  const regionLoads = createReading({
    what: 'the load of regions',
    read: async () => loads.read([...((await regions()) ?? new Map<string, WatchedRegion>()).keys()]),
    logger,
  });
  const byRegion = <Value>(
    name: string,
    help: string,
    reading: Reading<ReadonlyMap<string, Value>>,
    pick: (value: Value) => number | null,
  ): void =>
    registerReadGauge(registry, {
      name,
      help,
      labelNames: ['region'],
      samples: async () =>
        [...((await reading()) ?? [])].flatMap(([region, read]) => {
          const value = pick(read);
          return value === null ? [] : [{ labels: { region }, value }];
        }),
    });
  byRegion('tocsin_region_monitors', 'Monitors assigned to a region.', regions, (read) => read.monitors);
  byRegion(
    'tocsin_checks_overdue',
    'Monitors of a region whose last result is older than interval, timeout and 15 s.',
    regions,
    (read) => read.overdue,
  );
  byRegion(
    'tocsin_region_workers',
    'Checkers that take the checks of a region with monitors; absent if its queue does not respond.',
    regionLoads,
    (load: RegionLoad | null) => load && load.workers,
  );
  byRegion(
    'tocsin_region_lag_seconds',
    'How long the oldest check that waits, or has no result, has been due; absent if its queue does not respond.',
    async () => {
      const [read, late] = await Promise.all([regionLoads(), lateRegions()]);
      const lagOf = (code: string, load: RegionLoad): number =>
        Math.max(load.lagMs, late?.get(code)?.lateMs ?? 0) / 1_000;
      return read && new Map([...read].map(([code, load]) => [code, load && lagOf(code, load)]));
    },
    (lag) => lag,
  );
  byRegion(
    'tocsin_region_late_seconds',
    'How long a check has been due in a region that has recorded nothing since; 0 for a region in time.',
    async () => {
      const [watched, late] = await Promise.all([regions(), lateRegions()]);
      if (late === null) return null;
      // A late region that is not among the largest has a sample too.
      const codes = [...(watched?.keys() ?? []), ...late.keys()];
      return new Map(codes.map((code) => [code, (late.get(code)?.lateMs ?? 0) / 1_000]));
    },
    Number,
  );
  byRegion(
    'tocsin_region_isolated',
    'Whether no canary of a region responds, for any account; absent for a region without canaries.',
    createReading({ what: 'isolated regions', read: () => watchNetworks(MAX_REGIONS), logger }),
    Number,
  );
  registerQueueDepths(options, regions);
}

function registerQueueDepths(
  { registry, readDepth, logger }: RegionMetricsOptions,
  regions: Reading<ReadonlyMap<string, WatchedRegion>>,
): void {
  const read = async (
    kind: JobKind,
    region: string | null,
  ): Promise<Sample<'queue' | 'region' | 'state'>[]> => {
    const depth = await readDepth(kind, region).catch(() => null);
    if (depth === null) return [];
    const labels = { queue: JOBS[kind].queue, region: region ?? '' };
    return [
      { labels: { ...labels, state: 'waiting' }, value: depth.waiting },
      { labels: { ...labels, state: 'active' }, value: depth.active },
    ];
  };
  // Separate, because these must be readable while Postgres hangs.
  const mainDepths = createReading({
    what: 'the depth of the queues',
    read: async () => Promise.all([read('statusChange', null), read('delivery', null)]),
    logger,
  });
  const regionDepths = createReading({
    what: 'the depth of the queues of regions',
    read: async () => {
      const codes = [...((await regions())?.keys() ?? [])];
      return Promise.all(codes.flatMap((code) => [read('check', code), read('trigger', code)]));
    },
    logger,
  });
  registerReadGauge(registry, {
    name: 'tocsin_queue_jobs',
    help: 'Jobs of a queue that are waiting or active; absent if the queue does not respond.',
    labelNames: ['queue', 'region', 'state'],
    samples: async () =>
      (await Promise.all([mainDepths(), regionDepths()])).flatMap((samples) => samples?.flat() ?? []),
  });
}
