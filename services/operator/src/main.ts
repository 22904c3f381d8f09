import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { parseEnv, SettingsError } from '@tocsin/runtime/env';
import { startHealthServer } from '@tocsin/runtime/health';
import { createLeaderLoop } from '@tocsin/runtime/leader';
import { createSilentLogger, type Logger } from '@tocsin/runtime/logger';
import { createLoop } from '@tocsin/runtime/loop';
import { createMetrics } from '@tocsin/runtime/metrics';
import { runService, type RunningService } from '@tocsin/runtime/service';
import { settings } from '@tocsin/runtime/settings';
import { parseMonitorSpec } from './desired/discovery.ts';
import { dryRun } from './dry-run.ts';
import { KubernetesClient } from './kubernetes/client.ts';
import { Cluster } from './kubernetes/cluster.ts';
import { connectToCluster } from './kubernetes/connection.ts';
import { createLeaseElection, LEASE_RETRY_MS } from './kubernetes/lease.ts';
import { createSetCounter, registerOperatorState } from './metrics.ts';
import { Reconciler } from './sync/reconciler.ts';
import { SetWriter } from './sync/set-writer.ts';
import { createTocsinClient } from './sync/tocsin-client.ts';

/** V8 trades memory for speed by default. */
const MEMORY_FLAGS = ['--heap-growing-percent=50', '--semi-space-growth-factor=1'];
const WORK_MS = 100;
const STATUS_MS = 1_000;
const LEASE_NAME = 'tocsin-operator';

const operatorSettings = settings.pick({
  TOCSIN_URL: true,
  TOCSIN_API_KEY: true,
  CLUSTER_NAME: true,
  WATCH_NAMESPACES: true,
  POD_NAMESPACE: true,
  KUBECONFIG: true,
  DEFAULTS: true,
  HEALTH_PORT: true,
  HEALTH_HOST: true,
});

interface Operator {
  readonly client: KubernetesClient;
  readonly cluster: Cluster;
  readonly reconciler: Reconciler;
  readonly writer: SetWriter;
  readonly env: ReturnType<typeof readSettings>;
}

function readSettings() {
  const env = parseEnv(operatorSettings);
  try {
    return { ...env, DEFAULTS: parseMonitorSpec(env.DEFAULTS, 'DEFAULTS') };
  } catch (error) {
    throw new SettingsError((error as Error).message);
  }
}

function createOperator(logger: Logger, onSet: (kind: 'plan' | 'write') => void): Operator {
  const env = readSettings();
  const client = new KubernetesClient(connectToCluster(env.KUBECONFIG, process.env));
  const namespaces = env.WATCH_NAMESPACES ?? null;
  const tocsin = createTocsinClient(env.TOCSIN_URL, env.TOCSIN_API_KEY);
  const writer = new SetWriter(tocsin, onSet);
  const cluster: Cluster = new Cluster(client, namespaces, (namespace) => reconciler.mark(namespace), logger);
  const reconciler: Reconciler = new Reconciler({
    cluster,
    tocsin,
    writer,
    clusterName: env.CLUSTER_NAME,
    namespaces,
    defaults: env.DEFAULTS,
    logger,
  });
  return { client, cluster, reconciler, writer, env };
}

async function start(logger: Logger): Promise<RunningService> {
  const registry = createMetrics();
  const { client, cluster, reconciler, env } = createOperator(logger, createSetCounter(registry));
  const leading = createLeaderLoop({
    name: 'syncing monitors',
    everyMs: WORK_MS,
    retryMs: LEASE_RETRY_MS,
    acquire: createLeaseElection({
      client,
      namespace: env.POD_NAMESPACE ?? ownNamespace(),
      name: LEASE_NAME,
      identity: `${hostname()}-${randomBytes(4).toString('hex')}`,
      logger,
    }),
    onElected: () => reconciler.restart(),
    work: (signal) => reconciler.work(signal),
    logger,
  });
  const following = createLoop({
    name: 'following statuses',
    everyMs: STATUS_MS,
    logger,
    work: async (signal) => (leading.isLeader() ? reconciler.pollStatuses(signal) : undefined),
  });
  registerOperatorState(registry, () => ({
    isLeader: leading.isLeader(),
    pending: reconciler.pending,
    monitors: cluster.count('Monitor'),
    channels: cluster.count('Channel'),
  }));
  const health = await startHealthServer({
    port: env.HEALTH_PORT,
    host: env.HEALTH_HOST,
    metrics: registry,
    ready: {
      cluster: async () => {
        if (!cluster.isSynced) throw new Error('not every kind has been listed');
      },
    },
  });
  cluster.start();
  return {
    ready: { healthPort: health.port },
    stop: async () => {
      await following.stop();
      await leading.stop();
      await cluster.stop();
      await health.stop();
    },
  };
}

function ownNamespace(): string {
  try {
    return readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/namespace', 'utf8').trim();
  } catch {
    throw new SettingsError(
      'POD_NAMESPACE is not set: it must be the namespace of the Lease that elects the leader',
    );
  }
}

async function runDryRun(): Promise<number> {
  const { cluster, reconciler, writer } = createOperator(createSilentLogger(), () => undefined);
  cluster.start();
  try {
    return await dryRun(cluster, reconciler, writer, (line) => process.stdout.write(`${line}\n`));
  } finally {
    await cluster.stop();
  }
}

for (const flag of MEMORY_FLAGS) setFlagsFromString(flag);
if (process.argv.includes('--dry-run')) {
  process.exitCode = await runDryRun().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  });
} else {
  await runService('operator', start);
}
