import { readFileSync } from 'node:fs';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { disableExhaustedChannels } from '@tocsin/db/channels/write-channels';
import { openDatabase } from '@tocsin/db/database/open';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { holdForDisabledChannels } from '@tocsin/db/deliveries/hold-deliveries';
import { recordAttempt } from '@tocsin/db/deliveries/record-attempt';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import { reportUnreadable } from '@tocsin/db/secrets/unreadable-secrets';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { createEgress } from '@tocsin/egress/create-egress';
import { startJobWorker } from '@tocsin/queue/job-worker';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStores } from '@tocsin/queue/queue-stores';
import { parseEnv } from '@tocsin/runtime/env';
import { startHealthServer } from '@tocsin/runtime/health';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop } from '@tocsin/runtime/loop';
import { createMetrics } from '@tocsin/runtime/metrics';
import { type RunningService, runService } from '@tocsin/runtime/service';
import { settings } from '@tocsin/runtime/settings';
import { isTracing, startTracing } from '@tocsin/runtime/tracing';
import { Deliverer } from './deliver/deliverer.ts';
import { sendWebhook } from './deliver/send-webhook.ts';
import { MaintenanceClock } from './maintenance-clock.ts';
import { createMaintenanceMetrics, createNotifierMetrics, registerBacklogMetrics } from './metrics.ts';
import { createRelay, traceDispatch } from './relay.ts';

const RELAY_EVERY_MS = 500;
/** Attempts end one by one, and each may have been waited for: rounds for all that end within this time are one. */
const RELAY_GATHER_MS = 25;
const MAINTENANCE_EVERY_MS = 500;
const SWEEP_EVERY_MS = 60_000;
/** A relay without a finished round for this long is stuck; rounds that fail are progress. */
const STUCK_AFTER_MS = 60_000;
const DISPATCH_CONCURRENCY = 20;
const DELIVERY_CONCURRENCY = 100;
/** At SIGTERM: an attempt begins within 5 s, and is recorded within 18 s. Nobody waits for Postgres after that. */
const ABANDON_POSTGRES_AFTER_MS = 24_000;

const notifierSettings = settings.pick({
  DATABASE_URL: true,
  DATABASE_DIRECT_URL: true,
  DATABASE_POOL_SIZE: true,
  QUEUE_URL: true,
  SECRETS_KEY: true,
  WEBHOOK_CA_FILE: true,
  EGRESS_ALLOW_CIDRS: true,
  HEALTH_PORT: true,
  HEALTH_HOST: true,
});

async function start(logger: Logger): Promise<RunningService> {
  const env = parseEnv(notifierSettings);
  const stopTracing = await startTracing('notifier', logger);
  const database = openDatabase({
    url: env.DATABASE_URL,
    poolSize: env.DATABASE_POOL_SIZE,
    throughPooler: env.DATABASE_DIRECT_URL !== undefined,
    applicationName: 'tocsin notifier',
    onIdleError: (error) => logger.warn('An idle database connection broke', { error }),
  });
  const { db } = database;
  const context = { db, secrets: new SecretBox(env.SECRETS_KEY) };
  void reportUnreadable(context, (message) => logger.error(message));
  const stores = openQueueStores(env.QUEUE_URL, new Map(), (error, setting) =>
    logger.warn("The queue's store is in trouble", { error, setting }),
  );
  const producers = new Producers(stores);
  const registry = createMetrics();
  const egress = createEgress({
    allowCidrs: env.EGRESS_ALLOW_CIDRS,
    extraCa: env.WEBHOOK_CA_FILE === undefined ? null : readFileSync(env.WEBHOOK_CA_FILE, 'utf8'),
  });
  const metrics = createNotifierMetrics(registry);
  registerBacklogMetrics(registry, db, logger);
  const deliverer = new Deliverer({
    send: (delivery) => sendWebhook(delivery, egress),
    recordAttempt: (attempt) => recordAttempt(db, attempt),
    metrics,
    logger,
    onRecorded: () => relay.wake(),
  });
  let relayedAt = performance.now();
  const relayOnce = createRelay({
    dispatchDue: (limit) => traceDispatch('relay', () => dispatchStatusChanges(db, { limit })),
    claimDue: (scope) => claimDeliveries(context, scope, isTracing()),
    deliverer,
  });
  const relay = createLoop({
    name: 'The relay',
    everyMs: RELAY_EVERY_MS,
    gatherMs: RELAY_GATHER_MS,
    logger,
    work: () =>
      relayOnce().finally(() => {
        relayedAt = performance.now();
      }),
  });
  const sweep = createLoop({
    name: 'Disabling channels',
    everyMs: SWEEP_EVERY_MS,
    logger,
    work: async (signal) => {
      for (const channelId of await disableExhaustedChannels(db)) {
        metrics.channelsDisabled.inc();
        logger.error('Channel disabled: every attempt of the last 72 hours failed', { channelId });
      }
      await holdForDisabledChannels(db, signal);
    },
  });
  const clock = new MaintenanceClock({
    advance: () => advanceWindows(db),
    settle: () => settleMaintenance(db),
    hint: (ids) => producers.addStatusChanges(ids),
    metrics: createMaintenanceMetrics(registry, db, logger),
    logger,
  });
  const maintenance = createLoop({
    name: 'The maintenance clock',
    everyMs: MAINTENANCE_EVERY_MS,
    logger,
    work: (signal) => clock.keep(signal),
  });
  const onFailed = (jobId: string, error: Error): void => {
    logger.warn('A job failed; the relay does what it was about', { jobId, error });
  };
  const workers = [
    startJobWorker(stores.main, {
      kind: 'statusChange',
      region: null,
      concurrency: DISPATCH_CONCURRENCY,
      process: async ({ statusChangeId }) => {
        const { deliveryIds } = await traceDispatch('job', () =>
          dispatchStatusChanges(db, { statusChangeId }),
        );
        await producers.addDeliveries(deliveryIds).catch(() => relay.wake());
      },
      onFailed,
    }),
    startJobWorker(stores.main, {
      kind: 'delivery',
      region: null,
      concurrency: DELIVERY_CONCURRENCY,
      process: async ({ deliveryId }) => {
        const [delivery] = await claimDeliveries(context, { deliveryId }, isTracing());
        if (delivery) await deliverer.attempt(delivery);
      },
      onFailed,
    }),
  ];
  const health = await startHealthServer({
    port: env.HEALTH_PORT,
    host: env.HEALTH_HOST,
    metrics: registry,
    live: {
      relay: async () => {
        if (performance.now() - relayedAt > STUCK_AFTER_MS) throw new Error('the relay makes no progress');
      },
    },
    ready: { postgres: () => database.ping(), queue: () => stores.ping() },
  });
  return {
    ready: { healthPort: health.port },
    stop: async () => {
      deliverer.stop();
      const abandon = setTimeout(() => database.abandon(), ABANDON_POSTGRES_AFTER_MS);
      await Promise.all([
        maintenance.stop(),
        relay.stop(),
        sweep.stop(),
        ...workers.map((worker) => worker.close()),
      ]);
      await deliverer.close();
      await Promise.all([producers.close(), stopTracing()]);
      await stores.close();
      await database.close();
      clearTimeout(abandon);
      await health.stop();
    },
  };
}

await runService('notifier', start);
