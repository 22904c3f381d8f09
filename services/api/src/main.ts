import { setFlagsFromString } from 'node:v8';
import { writeLastUsed } from '@tocsin/db/api-keys/api-keys';
import { readRollupState } from '@tocsin/db/check-rollups/roll-up';
import { openServiceDatabase } from '@tocsin/db/database/service-database';
import { readClock } from '@tocsin/db/database/sql';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { watchRegions } from '@tocsin/db/monitor-regions/read-regions';
import { watchRegionNetworks } from '@tocsin/db/regions/canaries';
import { listLateRegions } from '@tocsin/db/regions/late-regions';
import { createEgress } from '@tocsin/egress/create-egress';
import { logStoreErrors, openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import { readQueueDepth, readRegionLoad } from '@tocsin/queue/queue-load';
import { parseEnv } from '@tocsin/runtime/env';
import type { Logger } from '@tocsin/runtime/logger';
import {
  createMetrics,
  createReading,
  measureClockOffset,
  registerClockOffset,
} from '@tocsin/runtime/metrics';
import { type RunningService, runService } from '@tocsin/runtime/service';
import { createLastUsedRecorder } from './api-keys/last-used.ts';
import { createApp } from './app.ts';
import { createBackground } from './background.ts';
import { ensureAdmin, ensureApiKeys } from './bootstrap/bootstrap.ts';
import type { ApiContext } from './context.ts';
import { registerPackingMetrics } from './housekeeping/housekeeping.ts';
import { registerRollupMetrics } from './housekeeping/rollups.ts';
import { startHttpServer } from './http/http-server.ts';
import { authSecret } from './identity/auth-options.ts';
import { HeavyReads } from './http/heavy-reads.ts';
import { createIdentity } from './identity/create-identity.ts';
import { oidcSettings } from './identity/single-sign-on.ts';
import { LiveStreams } from './live-stream/live-streams.ts';
import { createTriggerShares } from './monitors/trigger.ts';
import { startLateReading } from './regions/late-reading.ts';
import { RegionLoads } from './regions/region-loads.ts';
import { registerRegionMetrics } from './regions/region-metrics.ts';
import { apiSettings, defaultQuotas, httpLimits, requestSettings } from './settings.ts';

/** After SIGTERM, requests that wait for a checker or a notifier end. Two seconds later the server stops. */
const ABORT_WAITING_AFTER_MS = 8_000;
/** By then the server has stopped, and Postgres has had five seconds to finish statements. */
const ABANDON_POSTGRES_AFTER_MS = 15_000;
/** V8 collects garbage after this growth of the heap. Its default of up to 400 % needs 200 MB more for lists of 50,000 monitors. */
const HEAP_GROWTH_PERCENT = 100;

async function start(logger: Logger): Promise<RunningService> {
  const env = parseEnv(apiSettings);
  const oidc = oidcSettings(env);

  const database = openServiceDatabase('api', env, logger);
  const { db, secrets } = database;
  const store = openQueueStore(env.QUEUE_URL, logStoreErrors(logger));
  const producers = new Producers(store);

  await ensureApiKeys(db, env, logger);
  await ensureAdmin(db, env, logger);
  await ensureEventPartitions(db, { minutes: env.EVENT_PARTITION_MINUTES });

  const metrics = createMetrics();
  const regionLoads = new RegionLoads({ read: (region) => readRegionLoad(producers, region), logger });
  const lateReading = startLateReading(() => listLateRegions(db), logger);
  const lateRegions = lateReading.latest;
  registerMetrics({ db, metrics, lateRegions, logger }, producers, regionLoads);
  const background = createBackground({ db, metrics, logger }, env, producers);
  const lastUsed = createLastUsedRecorder((times) => writeLastUsed(db, times), logger);
  const settings = requestSettings(env);
  const secret = authSecret(env.SECRETS_KEY);
  const identity = createIdentity({ db, secret, ...settings, limitSignIn: true, oidc, logger });
  const heavyReads = new HeavyReads();
  const streams = new LiveStreams({ db, identity, heavyReads, lateRegions, metrics, logger });

  const shutdown = new AbortController();
  const app = createApp({
    db,
    secrets,
    quotas: defaultQuotas(env),
    producers,
    egress: createEgress({ allowCidrs: env.EGRESS_ALLOW_CIDRS }),
    regionLoads,
    lateRegions,
    schedules: background.schedules,
    lastUsed,
    identity,
    heavyReads,
    streams,
    triggered: createTriggerShares(shutdown.signal),
    settings,
    logger,
    metrics,
    ready: { postgres: () => database.ping(), queue: () => store.ping() },
    shutdown: shutdown.signal,
  });
  const server = await startHttpServer(app, { port: env.PORT, host: env.HOST }, httpLimits(env));
  background.start();
  return {
    ready: { port: server.port },
    async stop() {
      const abort = setTimeout(() => shutdown.abort(), ABORT_WAITING_AFTER_MS);
      const abandon = setTimeout(() => database.abandon(), ABANDON_POSTGRES_AFTER_MS);
      const streamsEnded = streams.stop();
      await server.stop();
      clearTimeout(abort);
      await Promise.all([streamsEnded, background.stop(), lateReading.stop(), lastUsed.stop()]);
      await producers.close();
      await store.close();
      await database.close();
      clearTimeout(abandon);
    },
  };
}

function registerMetrics(
  { db, metrics, lateRegions, logger }: Pick<ApiContext, 'db' | 'metrics' | 'lateRegions' | 'logger'>,
  producers: Producers,
  regionLoads: RegionLoads,
): void {
  registerRegionMetrics({
    registry: metrics,
    watchRegions: (limit) => watchRegions(db, limit),
    watchNetworks: (limit) => watchRegionNetworks(db, limit),
    loads: regionLoads,
    lateRegions,
    readDepth: (kind, region) => readQueueDepth(producers, kind, region),
    logger,
  });
  const read = (): ReturnType<typeof measureClockOffset> => measureClockOffset(() => readClock(db));
  registerClockOffset(metrics, createReading({ what: 'the clock of Postgres', read, logger }));
  registerRollupMetrics(metrics, () => readRollupState(db), logger);
  registerPackingMetrics(metrics, db, logger);
}

setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
await runService('api', start);
