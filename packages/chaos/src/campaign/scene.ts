import { join } from 'node:path';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { ApiClient } from '@tocsin/lab/api-client';
import { ServiceProcess } from '@tocsin/lab/service-process';
import type { System } from '@tocsin/lab/system';
import { REGIONS, REPLICAS, type ReplicaPlan } from '../plan/replicas.ts';
import type { NeighborKind, TargetState, World } from '../plan/world.ts';
import { startSystem, type StartedSystem } from '../world/start-system.ts';
import { Targets } from '../world/targets.ts';
import { installHolds, installPoison } from './pause-commits.ts';
import { Registry } from './registry.ts';
import { Replica } from './replica.ts';
import { TargetSchedule } from './target-schedule.ts';

/** Few, so that a fault can exhaust them. The services use about half of them, and black holes leave some open. */
const MAX_CONNECTIONS = 80;
/** Small, so that a Postgres with few connections serves all replicas. */
const POOL_SIZE = '5';
/** Small, so that the slow checks of another account could use all of it. */
const CHECK_CONCURRENCY = '20';
/** Before the first fault, on a slow machine. */
const READY_WITHIN_MS = 600_000;
/** The compiled file, because services run compiled code. */
const FAKE_RESOLVER = new URL('../../dist/campaign/fake-resolver.js', import.meta.url).href;
const NEIGHBOR_STATES: Readonly<Record<NeighborKind, TargetState>> = {
  redirecting: 'redirect',
  silent: 'hang',
  unreadable: 'up',
  poison: 'up',
};

/** The system of a campaign, its targets and receivers. */
export interface Scene extends StartedSystem {
  readonly replicas: readonly Replica[];
  readonly schedule: TargetSchedule;
  readonly neighborTargets: Targets;
  readonly api: ApiClient;
  readonly registry: Registry;
  /** While it exists, the names of targets and receivers do not resolve; its content is `fail` or `hang`. */
  readonly dnsDownFile: string;
  /** Null if clocks cannot be changed on this machine. */
  readonly libfaketime: string | null;
  /** One sentence each. */
  readonly serviceProblems: string[];
  /** Until when a fault may wait for its moment, epoch milliseconds. */
  readonly deadline: number;
}

/** Starts a system of its own: stores, targets, receivers and every replica. */
export async function openScene(
  world: World,
  libfaketime: Scene['libfaketime'],
  teardown: Teardown,
): Promise<Scene> {
  const addresses = ['127.0.0.1', ...REPLICAS.map(({ address }) => address)];
  const schedule = new TargetSchedule(world.monitors);
  const started = await startSystem(
    {
      name: 'chaos',
      maxConnections: MAX_CONNECTIONS,
      targets: { stateOf: (key) => schedule.stateOf(key), addresses },
      receivers: { keys: world.channels.map(({ key }) => key), addresses },
      env: {
        REGIONS: REGIONS.join(','),
        DEFAULT_REGION: REGIONS[0],
        DATABASE_POOL_SIZE: POOL_SIZE,
        CHECK_CONCURRENCY,
      },
    },
    teardown,
  );
  const { stores, system, receivers } = started;
  await installHolds(stores);
  await installPoison(stores);
  const starting = Targets.start({ stateOf: neighborStateOf, addresses });
  const neighborTargets = await teardown.start(starting, (one) => one.stop());
  for (const { key, kind } of world.channels) if (kind === 'broken') receivers.misbehaviors.set(key, '500');
  const dnsDownFile = join(stores.folder, 'dns-down');
  const serviceProblems: string[] = [];
  const replicas: Replica[] = [];
  for (const plan of REPLICAS) {
    const network = await teardown.start(TcpProxy.start(stores.databaseUrl), (one) => one.stop());
    const own = envOf(plan, system, network);
    replicas.push(
      new Replica({
        plan,
        network,
        createProcess: (extra) => {
          const env = { ...own, CHAOS_DNS_DOWN_FILE: dnsDownFile, ...extra };
          const logFile = join(system.folder, `${plan.name}.log`);
          return new ServiceProcess(plan.service, env, logFile, { nodeOptions: ['--import', FAKE_RESOLVER] });
        },
        onUnexpectedEnd: (problem) => serviceProblems.push(problem),
      }),
    );
  }
  teardown.onStop(() => Promise.all(replicas.map((replica) => replica.end('SIGKILL'))));
  for (const replica of replicas) replica.run();
  await until('every replica to be ready', () => replicas.every(({ isReady }) => isReady), READY_WITHIN_MS);
  const apis = replicas.filter(({ plan }) => plan.service === 'api');
  return {
    ...started,
    replicas,
    schedule,
    neighborTargets,
    api: new ApiClient(apis, system.apiKey),
    registry: new Registry(),
    dnsDownFile,
    libfaketime,
    serviceProblems,
    deadline: Infinity,
  };
}

function neighborStateOf(key: string): TargetState {
  return NEIGHBOR_STATES[key.split('-', 1)[0] as NeighborKind];
}

function envOf(plan: ReplicaPlan, system: System, network: TcpProxy): Record<string, string> {
  const url = new URL(network.through(system.databaseUrl));
  // Identifies the replica's sessions in Postgres.
  url.searchParams.set('application_name', plan.name);
  return {
    ...system.env,
    DATABASE_URL: url.href,
    CHAOS_ADDRESS: plan.address,
    ...(plan.region !== null && { REGION: plan.region }),
  };
}

/** @throws Error if there is none of that name */
export function replicaNamed(scene: Scene, name: string | null): Replica {
  const replica = scene.replicas.find((one) => one.name === name);
  if (replica === undefined) throw new Error(`unknown replica ${name}`);
  return replica;
}
