import { countChannels } from '@tocsin/db/channels/read-channels';
import type { Database } from '@tocsin/db/database/open';
import { countHeldDeliveries, deliveryBacklog } from '@tocsin/db/deliveries/read-deliveries';
import { countRunningWindows } from '@tocsin/db/maintenance-windows/read-windows';
import { outboxBacklog } from '@tocsin/db/status-changes/dispatch-status-changes';
import type { Logger } from '@tocsin/runtime/logger';
import { createReading, registerReadGauge, registerReadNumber } from '@tocsin/runtime/metrics';
import type { Metrics } from '@tocsin/runtime/metrics';
import { Counter, Histogram } from 'prom-client';

/** Counting held deliveries reads the whole delivery log. */
const HELD_FRESH_FOR_MS = 60_000;
const WINDOWS_FRESH_FOR_MS = 1_000;

export interface NotifierMetrics {
  readonly attempts: Counter<'outcome'>;
  readonly attemptSeconds: Histogram;
  readonly channelsDisabled: Counter;
  readonly maintenanceLateSeconds: Histogram<'edge'>;
  readonly refusedStatusChanges: Counter;
}

export function createNotifierMetrics(registry: Metrics): NotifierMetrics {
  const registers = [registry];
  return {
    attempts: new Counter({
      name: 'tocsin_delivery_attempts_total',
      help: 'Webhook attempts, by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
    attemptSeconds: new Histogram({
      name: 'tocsin_delivery_attempt_duration_seconds',
      help: 'How long a webhook attempt took.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    channelsDisabled: new Counter({
      name: 'tocsin_channels_disabled_total',
      help: 'Channels that the service disabled: 410, or 72 hours without a successful attempt.',
      registers,
    }),
    maintenanceLateSeconds: new Histogram({
      name: 'tocsin_maintenance_late_seconds',
      help: 'How late the last monitor of a maintenance window entered or left maintenance.',
      labelNames: ['edge'],
      buckets: [0.1, 0.25, 0.5, 1, 2, 5, 30, 300],
      registers,
    }),
    refusedStatusChanges: new Counter({
      name: 'tocsin_status_changes_refused_total',
      help: 'How many times PostgreSQL refused the deliveries of one status change. It is tried again.',
      registers,
    }),
  };
}

/** Registers metrics that every notifier reads from Postgres with the same values. */
export function registerBacklogMetrics(registry: Metrics, db: Database, logger: Logger): void {
  const registerCount = (name: string, help: string, freshForMs: number, read: () => Promise<number>): void =>
    registerReadNumber(
      registry,
      { name, help },
      createReading({ what: name, read, logger, freshForMs }),
      (count) => count,
    );
  const registerBacklog = (
    name: string,
    what: string,
    read: () => Promise<{ count: number; oldestSeconds: number }>,
  ): void => {
    const backlog = createReading({ what, read, logger });
    const count = { name, help: `Number of ${what}.` };
    const age = { name: `${name}_oldest_seconds`, help: `Age of the oldest of the ${what}; 0 without any.` };
    registerReadNumber(registry, count, backlog, ({ count }) => count);
    registerReadNumber(registry, age, backlog, ({ oldestSeconds }) => oldestSeconds);
  };
  registerBacklog('tocsin_outbox', 'status changes without deliveries', () => outboxBacklog(db));
  registerBacklog('tocsin_deliveries_due', 'deliveries whose attempt is due', () => deliveryBacklog(db));
  registerCount(
    'tocsin_deliveries_held',
    'Deliveries of disabled channels that wait for a redelivery.',
    HELD_FRESH_FOR_MS,
    () => countHeldDeliveries(db),
  );
  registerCount(
    'tocsin_maintenance_windows_running',
    'Number of maintenance windows that run now.',
    WINDOWS_FRESH_FOR_MS,
    () => countRunningWindows(db),
  );
  const channels = createReading({ what: 'the channels', read: () => countChannels(db), logger });
  registerReadGauge(registry, {
    name: 'tocsin_channels',
    help: 'Channels by state: enabled, disabled by a user, disabled_by_service because every attempt failed.',
    labelNames: ['state'],
    samples: async () => {
      const counts = await channels();
      if (counts === null) return null;
      const { enabled, disabled, disabledByService } = counts;
      const values = Object.entries({ enabled, disabled, disabled_by_service: disabledByService });
      return values.map(([state, value]) => ({ labels: { state }, value }));
    },
  });
}
