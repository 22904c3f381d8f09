import { join } from 'node:path';
import { findFreePort } from '@tocsin/embedded/ports';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { ApiClient } from '../api-client.ts';
import { Registry } from '../load/registry.ts';
import type { NeighborKind, TargetState, World } from '../load/world-plan.ts';
import type { WorldScene } from '../load/world-scene.ts';
import { ServiceProcess, type ServiceName } from '../service-process.ts';
import { startSystem, type StartedSystem } from '../world/start-system.ts';
import { TargetSchedule } from '../world/target-schedule.ts';
import { Targets } from '../world/targets.ts';
import { installPauses, installPoison } from './pause-commits.ts';
import { Replica } from './replica.ts';
import { REGIONS, REPLICAS, type ReplicaPlan } from './replica-plans.ts';

/** This is small, so that a fault can exhaust the connections. The services use about half of them, and black holes leave some open. */
const MAX_CONNECTIONS = 80;
const FAULT_ENV = {
  REGIONS: REGIONS.join(','),
  DEFAULT_REGION: REGIONS[0],
  // With small pools, Postgres has enough connections for all replicas.
  DATABASE_POOL_SIZE: '5',
  // This is small, so that the slow checks of another account could use all permits.
  CHECK_CONCURRENCY: '20',
};
/** Without faults, one region has all checkers, so that a restart leaves one running. */
const STEADY_ENV = { REGIONS: REGIONS[0], DEFAULT_REGION: REGIONS[0], LOG_LEVEL: 'warn' };
/** Allowance for a slow machine before the first fault. */
const READY_WITHIN_MS = 600_000;
/** The compiled file, because services run compiled code. */
const FAKE_RESOLVER = new URL('../../dist/world/fake-resolver.js', import.meta.url).href;
const NEIGHBOR_STATES: Readonly<Record<NeighborKind, TargetState>> = {
  redirecting: 'redirect',
  silent: 'hang',
  unreadable: 'up',
  poison: 'up',
};

/** The system of a fault campaign with its replicas, targets and receivers. */
export interface Scene extends StartedSystem, WorldScene {
  readonly stores: StartedSystem['stores'];
  readonly targets: Targets;
  readonly receivers: StartedSystem['receivers'];
  readonly replicas: readonly Replica[];
  readonly schedule: TargetSchedule;
  readonly neighborTargets: Targets;
  /** While this file exists, the names of targets and receivers do not resolve. Its content is `fail` or `hang`. */
  readonly dnsDownFile: string;
  readonly serviceProblems: string[];
}

/** Settings of a run without faults. */
interface SteadySettings {
  /** Milliseconds until the responses of targets and receivers. */
  readonly targetDelayMs: () => number;
  readonly receiverDelayMs: () => number;
  readonly nodeOptions: readonly string[];
  readonly prepare: (stores: StartedSystem['stores']) => Promise<void>;
}

interface SceneOptions {
  readonly teardown: Teardown;
  /** Null for a run with faults. */
  readonly steady: SteadySettings | null;
}

export async function openScene(world: World, options: SceneOptions): Promise<Scene> {
  const { teardown, steady } = options;
  const plans = REPLICAS.filter(({ region }) => steady === null || region !== REGIONS[1]);
  const addresses = ['127.0.0.1', ...plans.map(({ address }) => address)];
  const schedule = new TargetSchedule(world.monitors);
  const { stateOf } = schedule;
  const keys = world.channels.map(({ key }) => key);
  const started = await startSystem({
    name: 'faults',
    maxConnections: MAX_CONNECTIONS,
    targets: { stateOf, addresses, ...(steady && { delayMs: steady.targetDelayMs }) },
    receivers: { keys, addresses, ...(steady && { delayMs: steady.receiverDelayMs }) },
    env: steady ? STEADY_ENV : FAULT_ENV,
    teardown,
  });
  const { stores, system, receivers } = started;
  if (steady) await steady.prepare(stores);
  else {
    await installPauses(stores);
    await installPoison(stores);
  }
  const starting = Targets.start({ stateOf: neighborStateOf, addresses });
  const neighborTargets = await teardown.start(starting, (one) => one.stop());
  for (const { key, kind } of world.channels) if (kind === 'broken') receivers.misbehaviors.set(key, '500');
  const scene = {
    ...started,
    schedule,
    neighborTargets,
    registry: new Registry(),
    dnsDownFile: join(stores.folder, 'dns-down'),
    serviceProblems: [] as string[],
  };
  const replicas: Replica[] = [];
  for (const plan of plans) replicas.push(await createReplica(scene, plan, options));
  teardown.onStop(() => Promise.all(replicas.map((replica) => replica.end('SIGKILL'))));
  for (const replica of replicas) replica.run();
  await until('every replica to be ready', () => replicas.every(({ isReady }) => isReady), READY_WITHIN_MS);
  const api = new ApiClient(replicasOf({ replicas }, 'api'), system.apiKey);
  return { ...scene, replicas, api };
}

function neighborStateOf(key: string): TargetState {
  return NEIGHBOR_STATES[key.split('-', 1)[0] as NeighborKind];
}

async function createReplica(
  { system, dnsDownFile, serviceProblems }: Omit<Scene, 'replicas' | 'api'>,
  plan: ReplicaPlan,
  { teardown, steady }: SceneOptions,
): Promise<Replica> {
  const { name, service, address, region } = plan;
  const network = await teardown.start(TcpProxy.start(system.databaseUrl), (one) => one.stop());
  const url = new URL(network.through(system.databaseUrl));
  // Identifies the sessions of the replica in Postgres.
  url.searchParams.set('application_name', name);
  const env = {
    ...system.env,
    DATABASE_URL: url.href,
    LAB_ADDRESS: address,
    LAB_DNS_DOWN_FILE: dnsDownFile,
    ...(region !== null && { REGION: region }),
    // Clients of a steady run keep to an api, which keeps its port when it is restarted.
    ...(service === 'api' && steady && { PORT: String(await findFreePort()) }),
  };
  const nodeOptions = ['--import', FAKE_RESOLVER, ...(steady?.nodeOptions ?? [])];
  const logFile = join(system.folder, `${name}.log`);
  return new Replica({
    plan,
    network,
    createProcess: (extra) => new ServiceProcess(service, { ...env, ...extra }, logFile, { nodeOptions }),
    onUnexpectedEnd: (problem) => serviceProblems.push(problem),
  });
}

export function replicasOf({ replicas }: Pick<Scene, 'replicas'>, service: ServiceName): Replica[] {
  return replicas.filter(({ plan }) => plan.service === service);
}
