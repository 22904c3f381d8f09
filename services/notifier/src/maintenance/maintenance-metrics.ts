import type { Database } from '@tocsin/db/database/open';
import { countRunningWindows } from '@tocsin/db/maintenance-windows/count-running-windows';
import type { Logger } from '@tocsin/runtime/logger';
import type { Metrics } from '@tocsin/runtime/metrics';
import { createReading, registerReadNumber } from '@tocsin/runtime/reading';
import { Histogram } from 'prom-client';

/** A window begins and ends to the second. */
const FRESH_FOR_MS = 1_000;

export interface MaintenanceMetrics {
  readonly lateSeconds: Histogram<'edge'>;
}

/** What a notifier measures of maintenance windows. */
export function createMaintenanceMetrics(
  registry: Metrics,
  db: Database,
  logger: Logger,
): MaintenanceMetrics {
  registerReadNumber(
    registry,
    { name: 'tocsin_maintenance_windows_running', help: 'How many maintenance windows run now.' },
    createReading({
      what: 'the running maintenance windows',
      read: () => countRunningWindows(db),
      logger,
      freshForMs: FRESH_FOR_MS,
    }),
    (count) => count,
  );
  return {
    lateSeconds: new Histogram({
      name: 'tocsin_maintenance_late_seconds',
      help: 'How late the last monitor of a maintenance window entered or left maintenance.',
      labelNames: ['edge'],
      buckets: [0.1, 0.25, 0.5, 1, 2, 5, 30, 300],
      registers: [registry],
    }),
  };
}
