import { readFileSync } from 'node:fs';
import { openServiceDatabase } from '@tocsin/db/database/service-database';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { beginOutage, endOutage } from '@tocsin/db/deliveries/delivery-outages';
import { recordAttempt, recordDelivered } from '@tocsin/db/deliveries/record-attempt';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import { listLateRegions } from '@tocsin/db/regions/late-regions';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { createEgress } from '@tocsin/egress/create-egress';
import { logStoreErrors, openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import { parseEnv, SettingsError } from '@tocsin/runtime/env';
import { startHealthServer } from '@tocsin/runtime/health';
import type { Logger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { runService, type RunningService } from '@tocsin/runtime/service';
import { settings } from '@tocsin/runtime/settings';
import { isTracing } from '@tocsin/runtime/tracing';
import { startChannelProbes, startChannelSweeps } from './deliver/channel-sweep.ts';
import { Deliverer } from './deliver/deliverer.ts';
import { createOutageWatch } from './deliver/outage-watch.ts';
import { sendWebhook } from './deliver/send-webhook.ts';
import { startMaintenanceClock } from './maintenance-clock.ts';
import { createNotifierMetrics, registerBacklogMetrics } from './metrics.ts';
import { startRegionAlerts } from './region-alerts.ts';
import { startRelay } from './relay.ts';
import { startReminders } from './reminders.ts';
import { startWorkers } from './workers.ts';

/** After SIGTERM, attempts start within 5 s and are recorded within 18 s. */
const ABANDON_POSTGRES_AFTER_MS = 24_000;

const notifierSettings = settings.pick({
  DATABASE_URL: true,
  DATABASE_DIRECT_URL: true,
  DATABASE_POOL_SIZE: true,
  QUEUE_URL: true,
  SECRETS_KEY: true,
  PUBLIC_URL: true,
  WEBHOOK_CA_FILE: true,
  OPERATOR_WEBHOOK_URL: true,
  OPERATOR_WEBHOOK_SECRET: true,
  EGRESS_ALLOW_CIDRS: true,
  HEALTH_PORT: true,
  HEALTH_HOST: true,
});

async function start(logger: Logger): Promise<RunningService> {
  const env = parseEnv(notifierSettings);
  const { OPERATOR_WEBHOOK_URL: operatorUrl, OPERATOR_WEBHOOK_SECRET: operatorSecret } = env;
  if ((operatorUrl === undefined) !== (operatorSecret === undefined))
    throw new SettingsError('Set both OPERATOR_WEBHOOK_URL and OPERATOR_WEBHOOK_SECRET, or neither');
  const database = openServiceDatabase('notifier', env, logger);
  const { db } = database;
  const store = openQueueStore(env.QUEUE_URL, logStoreErrors(logger));
  const producers = new Producers(store);
  const publicUrl = env.PUBLIC_URL ?? null;

  const registry = createMetrics();
  const metrics = createNotifierMetrics(registry);
  registerBacklogMetrics(registry, db, logger);
  const extraCa = env.WEBHOOK_CA_FILE === undefined ? null : readFileSync(env.WEBHOOK_CA_FILE, 'utf8');
  const egress = createEgress({ allowCidrs: env.EGRESS_ALLOW_CIDRS, extraCa });
  const deliverer = new Deliverer({
    send: (delivery) => sendWebhook(delivery, egress),
    recordAttempt: (attempt) => recordAttempt(db, attempt),
    recordDelivered: (attempts) => recordDelivered(db, attempts),
    watchOutages: createOutageWatch({
      begin: (channelId) => beginOutage(db, channelId),
      end: () => endOutage(db),
      logger,
    }),
    metrics,
    logger,
    onRecorded: () => relay.wake(),
  });

  const relay = startRelay({
    dispatch: (scope) => dispatchStatusChanges(db, scope, publicUrl),
    onRefused: () => metrics.refusedStatusChanges.inc(),
    claimDue: (scope) => claimDeliveries(database, scope, isTracing()),
    deliverer,
    logger,
  });
  const sweeps = startChannelSweeps(db, metrics, logger);
  const probes = startChannelProbes(db, logger);
  const reminders = startReminders({ db, publicUrl, logger, onDue: () => relay.wake() });
  const maintenance = startMaintenanceClock({
    advance: (scope) => advanceWindows(db, scope),
    settle: ({ among, excludedIds }) => settleMaintenance(db, among, excludedIds),
    hint: (ids) => producers.addStatusChanges(ids),
    metrics,
    logger,
  });
  const regionAlerts =
    operatorUrl !== undefined && operatorSecret !== undefined
      ? startRegionAlerts({
          db,
          listLate: () => listLateRegions(db),
          url: operatorUrl,
          secret: operatorSecret,
          send: (request) => sendWebhook(request, egress),
          logger,
        })
      : null;
  const workers = startWorkers(store, relay, logger);
  const health = await startHealthServer({
    port: env.HEALTH_PORT,
    host: env.HEALTH_HOST,
    metrics: registry,
    live: { relay: () => relay.checkProgress() },
    ready: { postgres: () => database.ping(), queue: () => store.ping() },
  });

  return {
    ready: { healthPort: health.port },
    stop: async () => {
      deliverer.stop();
      const abandon = setTimeout(() => database.abandon(), ABANDON_POSTGRES_AFTER_MS);
      await Promise.all([
        maintenance.stop(),
        relay.stop(),
        ...sweeps.map((sweep) => sweep.stop()),
        probes.stop(),
        reminders.stop(),
        regionAlerts?.stop(),
        ...workers.map((worker) => worker.close()),
      ]);
      await deliverer.close();
      await producers.close();
      await store.close();
      await database.close();
      clearTimeout(abandon);
      await health.stop();
    },
  };
}

await runService('notifier', start);
