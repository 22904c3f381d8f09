import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { touchApiKeys } from '@tocsin/db/api-keys/api-keys';
import { readRollupState, writeClockDoubt } from '@tocsin/db/check-rollups/roll-up';
import { openDatabase } from '@tocsin/db/database/open';
import type { Database } from '@tocsin/db/database/open';
import { readClock } from '@tocsin/db/database/sql';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { watchRegions } from '@tocsin/db/monitor-regions/read-regions';
import { reportUnreadable } from '@tocsin/db/secrets/unreadable-secrets';
import { createEgress } from '@tocsin/egress/create-egress';
import { Producers } from '@tocsin/queue/producers';
import { readQueueDepth, readRegionLoad } from '@tocsin/queue/queue-load';
import { logStoreErrors, openQueueStores } from '@tocsin/queue/queue-stores';
import { parseEnv } from '@tocsin/runtime/env';
import { localUrl } from '@tocsin/runtime/listen';
import type { Logger } from '@tocsin/runtime/logger';
import {
  createMetrics,
  createReading,
  measureClockOffset,
  registerClockOffset,
} from '@tocsin/runtime/metrics';
import type { Metrics } from '@tocsin/runtime/metrics';
import { type RunningService, runService } from '@tocsin/runtime/service';
import { parseRegionQueueUrls, settings } from '@tocsin/runtime/settings';
import type { Settings } from '@tocsin/runtime/settings';
import { startTracing } from '@tocsin/runtime/tracing';
import { createLastUsedRecorder } from './api-keys/last-used.ts';
import { createApp } from './app.ts';
import { ensureAdmin, ensureApiKeys } from './bootstrap/bootstrap.ts';
import type { ApiSettings } from './context.ts';
import { DatabaseClock } from './housekeeping/database-clock.ts';
import { startHousekeeping } from './housekeeping/housekeeping.ts';
import { registerRollupMetrics, startRollUps } from './housekeeping/rollups.ts';
import { startHttpServer } from './http/http-server.ts';
import { authSecret } from './identity/auth-options.ts';
import { createIdentity } from './identity/create-identity.ts';
import { oidcSettings } from './identity/single-sign-on.ts';
import { LiveStreams } from './live-stream/live-streams.ts';
import { startPlanningWindows } from './maintenance-windows/plan-windows.ts';
import { TriggerLimits } from './monitors/trigger-limits.ts';
import { RegionLoads } from './regions/region-loads.ts';
import { registerRegionMetrics } from './regions/region-metrics.ts';
import { Reconciler, startReconciler } from './schedule/reconciler.ts';
import { ScheduleApplier } from './schedule/schedule-applier.ts';
import { createScheduleMetrics, registerLeadership } from './schedule/schedule-metrics.ts';
import { traceSync } from './schedule/sync-schedules.ts';

const apiSettings = settings.pick({
  PORT: true,
  HOST: true,
  PUBLIC_URL: true,
  TRUST_PROXY: true,
  HSTS_INCLUDE_SUBDOMAINS: true,
  DASHBOARD_DIR: true,
  API_RATE_LIMIT_PER_MINUTE: true,
  API_REQUEST_TIMEOUT_SECONDS: true,
  API_KEEP_ALIVE_SECONDS: true,
  DATABASE_URL: true,
  DATABASE_DIRECT_URL: true,
  DATABASE_POOL_SIZE: true,
  QUEUE_URL: true,
  SECRETS_KEY: true,
  DEFAULT_REGION: true,
  REGIONS: true,
  EVENT_RETENTION_DAYS: true,
  EGRESS_ALLOW_CIDRS: true,
  BOOTSTRAP_API_KEY: true,
  BOOTSTRAP_READ_KEY: true,
  BOOTSTRAP_ADMIN_EMAIL: true,
  BOOTSTRAP_ADMIN_PASSWORD: true,
  OIDC_ISSUER: true,
  OIDC_CLIENT_ID: true,
  OIDC_CLIENT_SECRET: true,
});
type Env = Pick<Settings, keyof typeof apiSettings.shape>;

/** At SIGTERM a request that waits for a checker or a notifier has this long; the server waits two seconds longer for all. */
const WAIT_AT_STOP_MS = 8_000;
/** By then the server has stopped, at the latest after ten seconds, and Postgres has had time to answer what is under way. */
const ABANDON_POSTGRES_AFTER_MS = 15_000;

async function start(logger: Logger): Promise<RunningService> {
  const env = parseEnv(apiSettings);
  const regionUrls = parseRegionQueueUrls();
  const oidc = oidcSettings(env);
  const stopTracing = await startTracing('api', logger);
  const database = openDatabase({
    url: env.DATABASE_URL,
    poolSize: env.DATABASE_POOL_SIZE,
    throughPooler: env.DATABASE_DIRECT_URL !== undefined,
    applicationName: 'tocsin api',
    onIdleError: (error) => logger.warn('An idle database connection broke', { error }),
  });
  const { db } = database;
  const queues = openQueueStores(env.QUEUE_URL, regionUrls, logStoreErrors(logger));
  const producers = new Producers(queues);
  await ensureApiKeys(db, env, logger);
  await ensureAdmin(db, env, logger);
  await ensureEventPartitions(db);
  const secrets = new SecretBox(env.SECRETS_KEY);
  void reportUnreadable({ db, secrets }, (message) => logger.error(message));

  const metrics = createMetrics();
  const keeper = createScheduleKeeper(env, {
    db,
    producers,
    metrics,
    logger,
    ownRegions: regionUrls.keys(),
  });
  const lastUsed = createLastUsedRecorder((times) => touchApiKeys(db, times), logger);
  const regionLoads = new RegionLoads({ read: (region) => readRegionLoad(producers, region), logger });
  registerRegionMetrics({
    registry: metrics,
    watchRegions: (limit) => watchRegions(db, limit),
    loads: regionLoads,
    readDepth: (kind, region) => readQueueDepth(producers, kind, region),
    logger,
  });
  registerClockOffset(
    metrics,
    createReading({
      what: 'the clock of Postgres',
      read: () => measureClockOffset(() => readClock(db)),
      logger,
    }),
  );
  registerRollupMetrics({ registry: metrics, readState: () => readRollupState(db), logger });
  const shutdown = new AbortController();
  const requests = requestSettings(env);
  const identity = createIdentity({
    db,
    secret: authSecret(env.SECRETS_KEY),
    publicUrl: requests.publicUrl,
    trustedOrigins: requests.trustedOrigins,
    limitSignIn: true,
    oidc,
    logger,
  });
  const streams = new LiveStreams({ db, identity, metrics, logger });
  const app = createApp({
    db,
    secrets,
    producers,
    egress: createEgress({ allowCidrs: env.EGRESS_ALLOW_CIDRS }),
    regionLoads,
    schedules: keeper.applier,
    lastUsed,
    identity,
    streams,
    triggerLimits: new TriggerLimits(),
    settings: requests,
    logger,
    metrics,
    // A region's own store may be away without taking the API out of service.
    ready: { postgres: () => database.ping(), queue: () => queues.main.ping() },
    shutdown: shutdown.signal,
  });
  const server = await startHttpServer(
    app,
    { port: env.PORT, host: env.HOST },
    {
      headMs: Math.ceil((env.API_REQUEST_TIMEOUT_SECONDS * 2_000) / 3),
      requestMs: env.API_REQUEST_TIMEOUT_SECONDS * 1_000,
      answerMs: 2 * env.API_REQUEST_TIMEOUT_SECONDS * 1_000,
      keepAliveMs: env.API_KEEP_ALIVE_SECONDS * 1_000,
    },
  );
  const stopBackground = keeper.start();
  return {
    ready: { port: server.port },
    async stop() {
      const giveUp = setTimeout(() => shutdown.abort(), WAIT_AT_STOP_MS);
      const abandon = setTimeout(() => database.abandon(), ABANDON_POSTGRES_AFTER_MS);
      const streamsEnded = streams.stop();
      await server.stop();
      clearTimeout(giveUp);
      await Promise.all([streamsEnded, stopBackground(), lastUsed.stop()]);
      await producers.close();
      await queues.close();
      await database.close();
      clearTimeout(abandon);
      await stopTracing();
    },
  };
}

interface ScheduleKeeperParts {
  readonly db: Database;
  readonly producers: Producers;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Regions that have a store of their own. */
  readonly ownRegions: Iterable<string>;
}

/** What keeps the queue's store as Postgres wants it: right after each commit, and by one leader's comparing. */
function createScheduleKeeper(
  env: Env,
  parts: ScheduleKeeperParts,
): { applier: ScheduleApplier; start: () => () => Promise<void> } {
  const { db, producers, logger } = parts;
  const metrics = createScheduleMetrics(parts.metrics);
  const applier = new ScheduleApplier({
    sync: traceSync({ db, producers }),
    onSynced: (region, applied) => metrics.synced(region, 'commit', applied),
    logger,
  });
  const reconciler = new Reconciler({
    db,
    producers,
    defaultRegion: env.DEFAULT_REGION,
    regions: [env.DEFAULT_REGION, ...(env.REGIONS ?? []), ...parts.ownRegions],
    metrics,
    logger,
  });
  return {
    applier,
    start: () => {
      const leader = startReconciler(reconciler, env.DATABASE_DIRECT_URL ?? env.DATABASE_URL, logger);
      const isLeader = (): boolean => leader.isLeader();
      registerLeadership(parts.metrics, () => leader.leadership());
      const retentionDays = env.EVENT_RETENTION_DAYS;
      const databaseClock = new DatabaseClock({
        readClock: () => readClock(db),
        readState: () => readRollupState(db),
        writeDoubt: (doubtedMs) => writeClockDoubt(db, doubtedMs),
        logger,
      });
      const housekeeping = startHousekeeping({ db, databaseClock, retentionDays, isLeader, logger });
      const rollUps = startRollUps({ db, databaseClock, isLeader, logger });
      const windows = startPlanningWindows({ db, isLeader, logger });
      return async () => {
        const loops = [leader, housekeeping, rollUps, windows, applier];
        await Promise.all(loops.map((loop) => loop.stop()));
      };
    },
  };
}

function requestSettings(env: Env): ApiSettings {
  const publicUrl = env.PUBLIC_URL ?? localUrl(env.HOST, env.PORT);
  return {
    defaultRegion: env.DEFAULT_REGION,
    regions: env.REGIONS ?? null,
    rateLimitPerMinute: env.API_RATE_LIMIT_PER_MINUTE,
    trustProxy: env.TRUST_PROXY,
    publicUrl,
    trustedOrigins: [new URL(publicUrl).origin],
    hstsIncludeSubDomains: env.HSTS_INCLUDE_SUBDOMAINS,
    dashboardDir: env.DASHBOARD_DIR ?? null,
  };
}

await runService('api', start);
