import type { Database } from '@tocsin/db/database/open';
import { countRunningWindows } from '@tocsin/db/maintenance-windows/count-running-windows';
import type { Metrics } from '@tocsin/runtime/metrics';
import { Gauge, Histogram } from 'prom-client';

export interface MaintenanceMetrics {
  readonly lateSeconds: Histogram<'edge'>;
}

/** What a notifier measures of maintenance windows. */
export function createMaintenanceMetrics(registry: Metrics, db: Database): MaintenanceMetrics {
  registry.registerMetric(
    new Gauge({
      name: 'tocsin_maintenance_windows_running',
      help: 'How many maintenance windows run now.',
      registers: [],
      async collect() {
        this.set(await countRunningWindows(db));
      },
    }),
  );
  return {
    lateSeconds: new Histogram({
      name: 'tocsin_maintenance_late_seconds',
      help: 'How late an occurrence of a maintenance window began or ended.',
      labelNames: ['edge'],
      buckets: [0.1, 0.25, 0.5, 1, 2, 5, 30, 300],
      registers: [registry],
    }),
  };
}
