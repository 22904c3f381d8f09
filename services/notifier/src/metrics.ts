import { deliveryBacklog } from '@tocsin/db/deliveries/delivery-backlog';
import type { Database } from '@tocsin/db/database/open';
import { outboxAge } from '@tocsin/db/status-changes/outbox-age';
import type { Metrics } from '@tocsin/runtime/metrics';
import { Counter, Gauge, Histogram } from 'prom-client';

export interface NotifierMetrics {
  readonly attempts: Counter<'outcome'>;
  readonly attemptSeconds: Histogram;
  readonly channelsDisabled: Counter;
}

/** What a notifier measures of its work, and of what Postgres says is still to be done. */
export function createNotifierMetrics(registry: Metrics, db: Database): NotifierMetrics {
  const registers = [registry];
  registerBacklog(registry, 'tocsin_outbox', 'status changes whose deliveries are not made', () =>
    outboxAge(db),
  );
  registerBacklog(registry, 'tocsin_deliveries_due', 'deliveries whose attempt is due', () =>
    deliveryBacklog(db),
  );
  return {
    attempts: new Counter({
      name: 'tocsin_delivery_attempts_total',
      help: 'Webhook attempts, by what they came to.',
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
      help: 'Channels that the service disabled: 410, or 72 hours without one success.',
      registers,
    }),
  };
}

type Backlog = () => Promise<{ count: number; oldestSeconds: number }>;

function registerBacklog(registry: Metrics, name: string, what: string, read: Backlog): void {
  const gauges = [
    new Gauge({
      name,
      help: `How many ${what}.`,
      registers: [],
      async collect() {
        await keepLast(async () => this.set((await read()).count));
      },
    }),
    new Gauge({
      name: `${name}_oldest_seconds`,
      help: `Age of the oldest of the ${what}; 0 without any.`,
      registers: [],
      async collect() {
        await keepLast(async () => this.set((await read()).oldestSeconds));
      },
    }),
  ];
  for (const gauge of gauges) registry.registerMetric(gauge);
}

/** While Postgres is away the other metrics are wanted most: a gauge that cannot be read keeps its last value. */
async function keepLast(read: () => Promise<void>): Promise<void> {
  await read().catch(() => undefined);
}
