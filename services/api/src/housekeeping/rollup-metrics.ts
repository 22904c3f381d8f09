import type { RollupState } from '@tocsin/db/check-rollups/rollup-state';
import type { Logger } from '@tocsin/runtime/logger';
import type { Metrics } from '@tocsin/runtime/metrics';
import { Gauge } from 'prom-client';

/** Series of the gauge; the regions with the most gaps come first. */
const MOST_REGIONS = 100;

export interface RollupMetricsOptions {
  readonly registry: Metrics;
  readonly readState: () => Promise<RollupState | null>;
  readonly logger: Logger;
}

/**
 * Shows how far the events are rolled up, and how many checks of the last hour did not happen: the same in every api process.
 * What cannot be read is left out, and never breaks the scrape.
 */
export function registerRollupMetrics({ registry, readState, logger }: RollupMetricsOptions): void {
  const read = (): Promise<RollupState | null> =>
    readState().catch((error: unknown) => {
      logger.debug('Could not read how far checks are rolled up', { error });
      return null;
    });
  const watermark = new Gauge({
    name: 'tocsin_rollup_watermark_seconds',
    help: 'Unix time of the end of the last hour whose checks are rolled up; more than two hours ago: nothing rolls up.',
    registers: [],
    async collect() {
      this.reset();
      const state = await read();
      // Without labels a reset leaves 0 behind.
      if (state === null) this.remove();
      else this.set(state.rolledUntil.getTime() / 1_000);
    },
  });
  const gaps = new Gauge({
    name: 'tocsin_rollup_gaps',
    help: 'Planned checks of the last hour rolled up that did not happen; regions without any are left out.',
    labelNames: ['region'],
    registers: [],
    async collect() {
      this.reset();
      const counts = Object.entries((await read())?.lastGaps ?? {});
      for (const [region, count] of counts
        .toSorted(([, one], [, other]) => other - one)
        .slice(0, MOST_REGIONS)) {
        this.set({ region }, count);
      }
    },
  });
  registry.registerMetric(watermark);
  registry.registerMetric(gaps);
}
