import type { Logger } from '@tocsin/runtime/logger';
import { createReading, type Metrics, registerReadNumber } from '@tocsin/runtime/metrics';

export interface PackingMetricsOptions {
  readonly registry: Metrics;
  /** How many closed partitions of events are not packed. */
  readonly countUnpacked: () => Promise<number>;
  readonly logger: Logger;
}

/** Exports how far packing lags behind: the same value in every api process. */
export function registerPackingMetrics({ registry, countUnpacked, logger }: PackingMetricsOptions): void {
  registerReadNumber(
    registry,
    {
      name: 'tocsin_event_partitions_unpacked',
      help: 'Closed partitions of events that are not packed yet: many after an upgrade, otherwise at most one.',
    },
    createReading({ what: 'which events are packed', read: countUnpacked, logger }),
    (count) => count,
  );
}
