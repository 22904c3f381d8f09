import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { renewAgentConnections } from '@tocsin/db/agents/agent-connections';
import { findAgentToken } from '@tocsin/db/agents/agent-tokens';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { DbContext } from '@tocsin/db/database/open';
import { openServiceDatabase } from '@tocsin/db/database/service-database';
import { readClock } from '@tocsin/db/database/sql';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { loadCheckTargets, readRevisions } from '@tocsin/db/monitors/check-targets';
import { loadCanaries } from '@tocsin/db/regions/canaries';
import { endIsolation, renewIsolation } from '@tocsin/db/regions/isolations';
import { recordTestResult, takeTestCheck } from '@tocsin/db/test-checks/test-checks';
import { createEgress } from '@tocsin/egress/create-egress';
import { logStoreErrors, openQueueStore } from '@tocsin/queue/open-queue-store';
import { Producers } from '@tocsin/queue/producers';
import { parseEnv } from '@tocsin/runtime/env';
import { startHealthServer } from '@tocsin/runtime/health';
import type { Logger } from '@tocsin/runtime/logger';
import { createMetrics, registerClockOffset } from '@tocsin/runtime/metrics';
import { runService, type RunningService } from '@tocsin/runtime/service';
import { settings } from '@tocsin/runtime/settings';
import { createRetry } from './checks/retries.ts';
import { createAnnouncer } from './checks/run-check.ts';
import type { TrialChecks } from './checks/trial-check.ts';
import { Gateway } from './gateway/gateway.ts';
import { createCheckerMetrics, type CheckerMetrics } from './metrics.ts';
import { Prober } from '@tocsin/probe/probe';
import { Recorder } from './record/recorder.ts';
import { createResponseSealer } from './record/seal-response.ts';
import { ClockGuard } from './regions/clock-guard.ts';
import type { ReportIsolation } from './regions/isolation-report.ts';
import { NetworkProof } from './regions/network-proof.ts';
import { startRegionWorkers } from './regions/region-workers.ts';
import { TargetCache } from './targets/target-cache.ts';

/** After SIGTERM, probes have this long to end by themselves, and Postgres has this long to accept their results. */
const ABORT_PROBES_AFTER_MS = 20_000;
/** The time after this is left for jobs that return to the queue. */
const ABANDON_POSTGRES_AFTER_MS = 23_000;
/** V8 collects garbage after this growth of the heap. Its default of up to 400 % leaves 90 MB of garbage with 50,000 monitors. */
const HEAP_GROWTH_PERCENT = 200;

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const checkerSettings = settings
  .pick({
    DATABASE_URL: true,
    DATABASE_DIRECT_URL: true,
    DATABASE_POOL_SIZE: true,
    QUEUE_URL: true,
    SECRETS_KEY: true,
    EVENT_PARTITION_MINUTES: true,
    CHECK_CONCURRENCY: true,
    CHECK_CA_FILE: true,
    EGRESS_ALLOW_CIDRS: true,
    HEALTH_PORT: true,
    HEALTH_HOST: true,
    HOST: true,
    AGENT_PORT: true,
  })
  .extend({ REGION: settings.shape.REGION.removeDefault().optional() });

/** Without `REGION`, a gateway serves only agent regions. */
function readSettings() {
  const { REGION, ...env } = parseEnv(checkerSettings);
  const fallback = env.AGENT_PORT === undefined ? settings.shape.REGION.parse(undefined) : [];
  return { ...env, REGION: REGION ?? fallback };
}

async function start(logger: Logger): Promise<RunningService> {
  const env = readSettings();
  const database = openServiceDatabase('checker', env, logger, { avoidsScans: true });
  const { db } = database;
  const store = openQueueStore(env.QUEUE_URL, logStoreErrors(logger));
  const producers = new Producers(store);
  const registry = createMetrics();
  const metrics = createCheckerMetrics(registry);
  const recorder = createRecorder(database, env.EVENT_PARTITION_MINUTES, metrics, logger);
  const shutdown = new AbortController();
  const extraCa = env.CHECK_CA_FILE === undefined ? null : readFileSync(env.CHECK_CA_FILE, 'utf8');
  const egress = createEgress({ allowCidrs: env.EGRESS_ALLOW_CIDRS, extraCa });
  const { signal } = shutdown;
  const prober = new Prober({ egress, signal });
  const checkerId = randomUUID();
  const networkProofOptions = {
    canaryRounds: metrics.canaryRounds,
    loadCanaries: (accountId: string, region: string) => loadCanaries(database, accountId, region),
    report: {
      renew: (isolation) => renewIsolation(db, { ...isolation, checkerId }),
      end: (isolation) => endIsolation(db, { ...isolation, checkerId }),
    } satisfies ReportIsolation,
    logger,
  };
  const networkProof = new NetworkProof({ ...networkProofOptions, prober, signal });
  const context = {
    targets: new TargetCache({
      load: (ids) => loadCheckTargets(database, ids),
      readRevisions: (ids) => readRevisions(db, ids),
    }),
    prober,
    recorder,
    networkProof,
    metrics,
    announce: createAnnouncer(producers, logger),
    retry: createRetry(producers, logger),
  };

  const trialChecks: TrialChecks = {
    take: (id) => takeTestCheck(database, id),
    record: (id, result) => recordTestResult(database, id, result),
  };
  const clock = new ClockGuard([() => readClock(db), () => store.readClock()], logger);
  registerClockOffset(registry, async () => clock.offset);
  // This comes before the workers start, because a checker with a fast clock must not take its first checks too early.
  await clock.update();
  const concurrency = env.CHECK_CONCURRENCY;
  const regions = env.REGION.map((region) =>
    startRegionWorkers({ region, concurrency, store, producers, db, context, trialChecks, logger }),
  );
  const startGateway = (port: number): Promise<Gateway> =>
    Gateway.start({
      port,
      host: env.HOST,
      version,
      secrets: database.secrets,
      context,
      trialChecks,
      fastConcurrency: concurrency,
      createNetworkProof: (remote, ended) =>
        new NetworkProof({ ...networkProofOptions, prober: remote, signal: ended }),
      startWorkers: (options) => startRegionWorkers({ store, producers, db, logger, ...options }),
      findToken: (hash) => findAgentToken(db, hash),
      renewConnections: (connections) => renewAgentConnections(db, checkerId, connections),
      registry,
      logger,
    });
  const gateway = env.AGENT_PORT === undefined ? null : await startGateway(env.AGENT_PORT);
  const clockWatch = clock.watch((isRight) => {
    for (const workers of regions) workers.halt(!isRight);
    gateway?.halt(!isRight);
  });
  const health = await startHealthServer({
    port: env.HEALTH_PORT,
    host: env.HEALTH_HOST,
    metrics: registry,
    live: {
      ...Object.fromEntries(regions.map((workers) => [workers.region, () => workers.checkProgress()])),
      ...(gateway !== null && { 'agent regions': () => gateway.checkProgress() }),
    },
    ready: {
      postgres: () => database.ping(),
      queue: () => store.ping(),
      clock: () => clock.check(),
      results: () => recorder.checkProgress(),
      ...(gateway !== null && { gateway: () => gateway.checkListening() }),
    },
  });

  return {
    ready: {
      regions: env.REGION,
      healthPort: health.port,
      ...(gateway !== null && { agentPort: gateway.port }),
    },
    stop: async () => {
      await clockWatch.stop();
      const abort = setTimeout(() => {
        shutdown.abort();
        recorder.abandon();
      }, ABORT_PROBES_AFTER_MS);
      const abandon = setTimeout(() => database.abandon(), ABANDON_POSTGRES_AFTER_MS);
      await Promise.all([...regions.map((workers) => workers.close()), gateway?.stop()]);
      clearTimeout(abort);
      await networkProof.close();
      await recorder.close();
      await producers.close();
      await store.close();
      await database.close();
      clearTimeout(abandon);
      await health.stop();
    },
  };
}

function createRecorder(
  { db, secrets }: DbContext,
  partitionMinutes: number,
  metrics: CheckerMetrics,
  logger: Logger,
): Recorder {
  const sealResponse = createResponseSealer(secrets);
  return new Recorder({
    record: (checks, options) => recordChecks(db, checks, { ...options, sealResponse }),
    ensurePartitions: () => ensureEventPartitions(db, { minutes: partitionMinutes }),
    logger,
    onBatch: (size, durationMs) => {
      metrics.batchSize.observe(size);
      metrics.batchSeconds.observe(durationMs / 1_000);
    },
    onRefused: () => metrics.dropped.inc({ reason: 'refused' }),
  });
}

setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
await runService('checker', start);
