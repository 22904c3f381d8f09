import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { openDatabase } from '@tocsin/db/database/open';
import { readClock } from '@tocsin/db/database/sql';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { loadCheckTargets } from '@tocsin/db/monitors/check-targets';
import { reportUnreadable } from '@tocsin/db/secrets/unreadable-secrets';
import { createEgress } from '@tocsin/egress/create-egress';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStores, type QueueStores } from '@tocsin/queue/queue-stores';
import { parseEnv } from '@tocsin/runtime/env';
import { startHealthServer } from '@tocsin/runtime/health';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop } from '@tocsin/runtime/loop';
import { createMetrics, registerClockOffset } from '@tocsin/runtime/metrics';
import { type RunningService, runService } from '@tocsin/runtime/service';
import { parseRegionQueueUrls, settings } from '@tocsin/runtime/settings';
import { SpanKind, startTracing, withSpan } from '@tocsin/runtime/tracing';
import type { CheckContext } from './checks/run-check.ts';
import { createCheckerMetrics } from './metrics.ts';
import { BodyBudget } from './probe/body-budget.ts';
import { Recorder } from './record/recorder.ts';
import { ClockGuard } from './regions/clock-guard.ts';
import { type RegionWorkers, startRegionWorkers } from './regions/region-workers.ts';
import { TargetCache } from './targets/target-cache.ts';

/** At SIGTERM running probes have this long to end by themselves, and Postgres to take their results (design §4 "Jobs"). */
const ABORT_PROBES_AFTER_MS = 20_000;
/** Then nobody waits for Postgres any more; what is left has a few seconds to end. */
const ABANDON_POSTGRES_AFTER_MS = 23_000;
/**
 * V8 collects garbage when the heap has grown by this much since the last time. By default it waits for up to four times what
 * is in use: with 50,000 monitors, 90 MB more of nothing but garbage.
 */
const HEAP_GROWTH_PERCENT = 200;

const LOOK_AT_CLOCK_EVERY_MS = 2_500;

const checkerSettings = settings.pick({
  DATABASE_URL: true,
  DATABASE_DIRECT_URL: true,
  DATABASE_POOL_SIZE: true,
  QUEUE_URL: true,
  SECRETS_KEY: true,
  REGION: true,
  CHECK_CONCURRENCY: true,
  CHECK_CA_FILE: true,
  EGRESS_ALLOW_CIDRS: true,
  HEALTH_PORT: true,
  HEALTH_HOST: true,
});

setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);

async function start(logger: Logger): Promise<RunningService> {
  const env = parseEnv(checkerSettings);
  const regionUrls = parseRegionQueueUrls();
  const stopTracing = await startTracing('checker', logger);
  const database = openDatabase({
    url: env.DATABASE_URL,
    poolSize: env.DATABASE_POOL_SIZE,
    throughPooler: env.DATABASE_DIRECT_URL !== undefined,
    applicationName: 'tocsin checker',
    onIdleError: (error) => logger.warn('An idle database connection broke', { error }),
  });
  const stores = openQueueStores(env.QUEUE_URL, regionUrls, (error, setting) =>
    logger.warn("The queue's store is in trouble", { error, setting }),
  );
  const producers = new Producers(stores);
  const secrets = new SecretBox(env.SECRETS_KEY);
  void reportUnreadable({ db: database.db, secrets }, (message) => logger.error(message));
  const registry = createMetrics();
  const metrics = createCheckerMetrics(registry);
  const shutdown = new AbortController();
  const recorder = new Recorder({
    record: (checks, options) => recordChecks(database.db, checks, options),
    ensurePartitions: () => ensureEventPartitions(database.db),
    logger,
    onBatch: (size, durationMs) => {
      metrics.batchSize.observe(size);
      metrics.batchSeconds.observe(durationMs / 1_000);
    },
    onRefused: () => metrics.dropped.inc({ reason: 'refused' }),
  });
  const context: CheckContext = {
    targets: new TargetCache((ids) => loadCheckTargets({ db: database.db, secrets }, ids)),
    recorder,
    egress: createEgress({
      allowCidrs: env.EGRESS_ALLOW_CIDRS,
      extraCa: env.CHECK_CA_FILE === undefined ? null : readFileSync(env.CHECK_CA_FILE, 'utf8'),
    }),
    metrics,
    bodies: new BodyBudget(),
    shutdown: shutdown.signal,
    announce: (statusChangeId) => {
      const span = {
        kind: SpanKind.PRODUCER,
        attributes: { 'tocsin.status_change.id': statusChangeId },
      };
      const announcing = withSpan('status change', span, () => producers.addStatusChanges([statusChangeId]));
      announcing.catch((error: unknown) => {
        logger.warn('Announcing a status change failed; the relay finds it', { statusChangeId, error });
      });
    },
  };
  const clock = new ClockGuard({
    clocks: [
      () => readClock(database.db),
      ...env.REGION.map((region) => () => stores.forRegion(region).readClock()),
    ],
    logger,
  });
  registerClockOffset(registry, async () => clock.offset);
  // Before any check is taken: with a clock that is fast the first would be one too many.
  await clock.look();
  const regions = env.REGION.map((region) =>
    startRegionWorkers({
      region,
      concurrency: env.CHECK_CONCURRENCY,
      stores,
      producers,
      db: database.db,
      context,
      logger,
    }),
  );
  for (const workers of regions) workers.halt(!clock.isRight);
  const halting = createLoop({
    name: 'Looking at the clock',
    everyMs: LOOK_AT_CLOCK_EVERY_MS,
    logger,
    work: async () => {
      await clock.look();
      for (const workers of regions) workers.halt(!clock.isRight);
    },
  });
  const health = await startHealthServer({
    port: env.HEALTH_PORT,
    host: env.HEALTH_HOST,
    metrics: registry,
    live: Object.fromEntries(regions.map((workers) => [workers.region, () => workers.checkProgress()])),
    ready: {
      postgres: () => database.ping(),
      queue: () => pingRegions(stores, env.REGION),
      clock: () => clock.check(),
      results: () => recorder.checkProgress(),
    },
  });
  return {
    ready: { regions: env.REGION, healthPort: health.port },
    stop: async () => {
      await halting.stop();
      const abort = setTimeout(() => {
        shutdown.abort();
        recorder.abandon();
      }, ABORT_PROBES_AFTER_MS);
      const abandon = setTimeout(() => database.abandon(), ABANDON_POSTGRES_AFTER_MS);
      await closeWorkers(regions);
      clearTimeout(abort);
      await recorder.close();
      await Promise.all([producers.close(), stopTracing()]);
      await stores.close();
      await database.close();
      clearTimeout(abandon);
      await health.stop();
    },
  };
}

/** The main store is none of them where each has its own: what a checker would tell it, the relay finds. */
async function pingRegions(stores: QueueStores, regions: readonly string[]): Promise<void> {
  await Promise.all(regions.map((region) => stores.forRegion(region).ping()));
}

async function closeWorkers(regions: readonly RegionWorkers[]): Promise<void> {
  await Promise.all(regions.map((workers) => workers.close()));
}

await runService('checker', start);
