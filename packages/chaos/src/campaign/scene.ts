import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { ApiClient } from '@tocsin/lab/api-client';
import { ADMIN_ENV } from '@tocsin/lab/dashboard-session';
import { Stores } from '@tocsin/lab/stores';
import { System } from '@tocsin/lab/system';
import { REGIONS, REPLICAS, type ReplicaPlan } from '../plan/replicas.ts';
import type { NeighbourKind, TargetState, World } from '../plan/world.ts';
import { Receivers } from '../world/receivers.ts';
import { Targets } from '../world/targets.ts';
import { installHolds, installPoison } from './hold-commits.ts';
import { Registry } from './registry.ts';
import { Replica } from './replica.ts';
import { TargetSchedule } from './target-schedule.ts';

/** Few, so that they can be exhausted; the services use about half of them. Black holes leave some behind. */
const MAX_CONNECTIONS = 80;
/** Small, so that a Postgres with few connections serves all replicas. */
const POOL_SIZE = 5;
/** Small, so that the slow checks of another account could take all places. */
const CHECK_CONCURRENCY = 20;
/** Nothing is broken yet: a slow machine may take its time. */
const READY_WITHIN_MS = 600_000;
/** The built one: services run from what was built. */
const FAKE_RESOLVER = new URL('../../dist/campaign/fake-resolver.js', import.meta.url).href;
const NEIGHBOUR_STATES: Readonly<Record<NeighbourKind, TargetState>> = {
  redirecting: 'redirect',
  silent: 'hang',
  unreadable: 'up',
  poison: 'up',
};

/** The system of a campaign, its targets and receivers. */
export interface Scene {
  readonly stores: Stores;
  readonly system: System;
  readonly replicas: readonly Replica[];
  readonly targets: Targets;
  readonly schedule: TargetSchedule;
  readonly receivers: Receivers;
  readonly neighbourTargets: Targets;
  readonly api: ApiClient;
  readonly registry: Registry;
  /** While it exists, the names of targets and receivers do not resolve; its content is `fail` or `hang`. */
  readonly dnsDownFile: string;
  /** Null: clocks cannot be changed here. */
  readonly libfaketime: string | null;
  /** One sentence each. */
  readonly serviceProblems: string[];
  /** Until when a fault may wait for its moment, epoch milliseconds. */
  readonly deadline: number;
}

export interface SceneOptions {
  readonly world: World;
  readonly libfaketime: string | null;
  readonly teardown: Teardown;
}

/** Starts a system of its own: stores, targets, receivers and every replica. */
export async function openScene({ world, libfaketime, teardown }: SceneOptions): Promise<Scene> {
  const stores = await Stores.start({ name: 'chaos', maxConnections: MAX_CONNECTIONS, teardown });
  await installHolds(stores);
  await installPoison(stores);
  const addresses = ['127.0.0.1', ...REPLICAS.map(({ address }) => address)];
  const startTargets = (stateOf: (key: string) => TargetState): Promise<Targets> =>
    teardown.start(Targets.start({ stateOf, addresses }), (one) => one.stop());
  const schedule = new TargetSchedule(world.monitors);
  const targets = await startTargets((key) => schedule.stateOf(key));
  const neighbourTargets = await startTargets(
    (key) => NEIGHBOUR_STATES[key.split('-', 1)[0] as NeighbourKind],
  );
  const keys = world.channels.map(({ key }) => key);
  const receivers = await teardown.start(Receivers.start({ keys, addresses }), (one) => one.stop());
  for (const { key, kind } of world.channels) if (kind === 'broken') receivers.misbehave(key, '500');
  const folder = join(stores.folder, 'logs');
  await mkdir(folder);
  const caFile = join(stores.folder, 'receivers-ca.pem');
  await writeFile(caFile, receivers.ca);
  const dnsDownFile = join(stores.folder, 'dns-down');
  const env = {
    ...ADMIN_ENV,
    NODE_ENV: 'production',
    REGIONS: REGIONS.join(','),
    DEFAULT_REGION: REGIONS[0],
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    CHECK_CONCURRENCY: String(CHECK_CONCURRENCY),
    WEBHOOK_CA_FILE: caFile,
    CHAOS_DNS_DOWN_FILE: dnsDownFile,
  };
  const { databaseUrl, queueUrl } = stores;
  const opening = System.open({ databaseUrl, queueUrl, folder, env });
  const system = await teardown.start(opening, (one) => one.close());
  const serviceProblems: string[] = [];
  const replicas: Replica[] = [];
  for (const plan of REPLICAS) {
    const network = await teardown.start(TcpProxy.start(databaseUrl), (one) => one.stop());
    replicas.push(createReplica(system, plan, network, serviceProblems));
  }
  teardown.onStop(() => Promise.all(replicas.map((replica) => replica.close())));
  for (const replica of replicas) replica.run();
  await until('every replica to be ready', () => replicas.every(({ isReady }) => isReady), READY_WITHIN_MS);
  const apis = replicas.filter(({ plan }) => plan.service === 'api');
  const api = new ApiClient(apis, system.apiKey);
  await api.signIn();
  return {
    stores,
    system,
    replicas,
    targets,
    schedule,
    receivers,
    neighbourTargets,
    api,
    registry: new Registry(),
    dnsDownFile,
    libfaketime,
    serviceProblems,
    deadline: Infinity,
  };
}

function createReplica(system: System, plan: ReplicaPlan, network: TcpProxy, problems: string[]): Replica {
  const url = new URL(network.through(system.databaseUrl));
  // Tells in Postgres whose a session is.
  url.searchParams.set('application_name', plan.name);
  return new Replica({
    plan,
    env: {
      ...system.env,
      DATABASE_URL: url.href,
      CHAOS_ADDRESS: plan.address,
      ...(plan.region !== null && { REGION: plan.region }),
    },
    network,
    logFile: join(system.folder, `${plan.name}.log`),
    nodeOptions: ['--import', FAKE_RESOLVER],
    onUnexpectedEnd: (problem) => problems.push(problem),
  });
}

/** @throws Error if there is none of that name */
export function replicaNamed(scene: Scene, name: string | null): Replica {
  const replica = scene.replicas.find((one) => one.name === name);
  if (replica === undefined) throw new Error(`unknown replica ${name}`);
  return replica;
}
