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
const REPORT_MS = 250;
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

function readSettings() {
  const env = parseEnv(operatorSettings);
  try {
    return { ...env, DEFAULTS: parseMonitorSpec(env.DEFAULTS, 'DEFAULTS') };
  } catch (error) {
    throw new SettingsError((error as Error).message);
  }
}

/** Builds what knows the cluster and Tocsin. Each leader starts anew, because it must not act on what it knew before another one led. */
function createOperator(
  env: ReturnType<typeof readSettings>,
  client: KubernetesClient,
  logger: Logger,
  onSet: (kind: 'plan' | 'write') => void,
) {
  const namespaces = env.WATCH_NAMESPACES ?? null;
  const tocsin = createTocsinClient(env.TOCSIN_URL, env.TOCSIN_API_KEY);
  const writer = new SetWriter(tocsin, onSet);
  const cluster: Cluster = new Cluster(client, namespaces, (namespace) => reconciler.mark(namespace), logger);
  const { CLUSTER_NAME: clusterName, DEFAULTS: defaults } = env;
  const reconciler: Reconciler = new Reconciler({
    cluster,
    tocsin,
    writer,
    clusterName,
    namespaces,
    defaults,
    logger,
  });
  return { cluster, reconciler, writer };
}

async function start(logger: Logger): Promise<RunningService> {
  const env = readSettings();
  const client = new KubernetesClient(connectToCluster(env.KUBECONFIG, process.env));
  const registry = createMetrics();
  const countSet = createSetCounter(registry);
  let operator: ReturnType<typeof createOperator> | null = null;

  /** Called before each request with a set, because a process that was paused may not know yet that another one leads. */
  const requireLease = (kind: 'plan' | 'write'): void => {
    if (!leading.isLeader()) throw new Error('The lease has expired');
    countSet(kind);
  };

  async function lead(signal: AbortSignal): Promise<void> {
    operator = createOperator(env, client, logger, requireLease);
    const { cluster, reconciler } = operator;
    const tasks = [
      ['syncing monitors', WORK_MS, async (stopped: AbortSignal) => reconciler.work(stopped)],
      ['following statuses', STATUS_MS, async (stopped: AbortSignal) => reconciler.follow(stopped)],
      ['writing to the cluster', REPORT_MS, async (stopped: AbortSignal) => reconciler.report(stopped)],
    ] as const;
    const loops = tasks.map(([name, everyMs, work]) => createLoop({ name, everyMs, work, logger }));
    await cluster.run(signal);
    await Promise.all(loops.map(async (loop) => loop.stop()));
    operator = null;
  }

  const leading = createLeaderLoop({
    name: 'the operator',
    everyMs: WORK_MS,
    retryMs: LEASE_RETRY_MS,
    acquire: createLeaseElection({
      client,
      namespace: env.POD_NAMESPACE ?? ownNamespace(),
      name: LEASE_NAME,
      identity: `${hostname()}-${randomBytes(4).toString('hex')}`,
      logger,
    }),
    work: lead,
    logger,
  });
  registerOperatorState(registry, () => ({
    leading: leading.isLeader() ? 1 : 0,
    namespaces_pending: operator?.reconciler.pending ?? 0,
    monitor_resources: operator?.cluster.count('Monitor') ?? 0,
    channel_resources: operator?.cluster.count('Channel') ?? 0,
  }));
  const health = await startHealthServer({
    port: env.HEALTH_PORT,
    host: env.HEALTH_HOST,
    metrics: registry,
    ready: {
      cluster: async () => {
        if (leading.leadership() === 'unknown') throw new Error('the Lease cannot be read');
        const missing = operator?.cluster.missing ?? [];
        if (missing.length > 0) throw new Error(`not listed: ${missing.join(', ')}`);
      },
    },
  });
  return {
    ready: { healthPort: health.port },
    stop: async () => {
      await leading.stop();
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
  const env = readSettings();
  const client = new KubernetesClient(connectToCluster(env.KUBECONFIG, process.env));
  const { cluster, reconciler, writer } = createOperator(env, client, createSilentLogger(), () => undefined);
  const stopped = new AbortController();
  const running = cluster.run(stopped.signal);
  try {
    return await dryRun(cluster, reconciler, writer, (line) => process.stdout.write(`${line}\n`));
  } finally {
    stopped.abort();
    await running;
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
