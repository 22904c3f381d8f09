import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { DnsServer, type ZoneEntry } from '@tocsin/egress/testing/dns-server';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { openSession } from '@tocsin/lab/dashboard-session';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { startSystem, type StartedSystem } from '../world/start-system.ts';
import { Namespaces, type RegionNetwork } from './namespaces.ts';
import { REGIONS, type NetworkPlan } from './plan.ts';
import type { NetworkMonitor, NetworkRecord } from './record.ts';
import { TargetStates } from './target-states.ts';

const ZONE = 'networks.test';
const CHANNEL = 'receiver';
const DNS_PORT = 53;
/** Requests at a time that create monitors. */
const CLIENTS = 8;
const READY_WITHIN_MS = 300_000;

/** A checker in the network of its region. */
interface Checker {
  readonly network: RegionNetwork;
  readonly service: ServiceProcess;
}

/** A system whose checkers have networks of their own. */
export interface World extends StartedSystem {
  readonly namespaces: Namespaces;
  /** The addresses whose queries the name server ignores. */
  readonly ignored: Set<string>;
  readonly clock: { startedAt: number };
  readonly checkers: readonly Checker[];
}

/** Starts everything. Resolves when each service is ready. */
export async function startWorld(plan: NetworkPlan, teardown: Teardown): Promise<World> {
  const namespaces = await teardown.start(Namespaces.create(REGIONS), (one) => one.remove());
  const clock = { startedAt: Infinity };
  const states = new TargetStates(plan, clock);
  const started = await startSystem(
    {
      name: 'networks',
      targets: {
        stateOf: (key, client) => states.respond(key, client),
        addresses: namespaces.targets,
      },
      receivers: { keys: [CHANNEL] },
      env: {
        REGIONS: REGIONS.join(','),
        DEFAULT_REGION: REGIONS[0],
        EGRESS_ALLOW_CIDRS: `127.0.0.0/8,${namespaces.block}`,
      },
    },
    teardown,
  );
  const zone = plan.monitors.map(({ key }, index): [string, ZoneEntry] => [
    nameOf(key),
    () => (states.plannedFor(key) === 'gone' ? [] : [addressOf(namespaces, index)]),
  ]);
  const dns = await teardown.start(
    DnsServer.start(Object.fromEntries(zone), DNS_PORT, namespaces.nameServer),
    (server) => server.stop(),
  );
  const ignored = new Set<string>();
  dns.ignores = (client) => ignored.has(client);
  const checkers: Checker[] = [];
  for (const network of namespaces.regions) {
    checkers.push({ network, service: await createChecker(started, network, teardown) });
  }
  const { system } = started;
  const services = [
    system.service('api'),
    system.service('notifier'),
    ...checkers.map(({ service }) => service),
  ];
  await Promise.all(services.map((service) => service.start()));
  return { ...started, namespaces, ignored, clock, checkers };
}

/** A checker in the namespace of its region, which reaches the stores through proxies. It is not started yet. */
async function createChecker(
  { system }: StartedSystem,
  { region, namespace, storesHost }: RegionNetwork,
  teardown: Teardown,
): Promise<ServiceProcess> {
  const through = async (url: string): Promise<string> => {
    const proxy = await teardown.start(TcpProxy.start(url, storesHost), (one) => one.stop());
    return proxy.through(url);
  };
  const env = {
    REGION: region,
    DATABASE_URL: await through(system.databaseUrl),
    QUEUE_URL: await through(system.queueUrl),
  };
  const launcher = ['ip', 'netns', 'exec', namespace] as const;
  return system.service('checker', env, { label: `checker-${region}`, launcher });
}

function nameOf(key: string): string {
  return `${key}.${ZONE}`;
}

function addressOf({ targets }: Namespaces, index: number): string {
  return targets[index % targets.length] ?? '';
}

/** Creates the monitors and a channel for all of them. Resolves when each is UP. */
export async function createMonitors(
  { system, stores, targets, receivers, namespaces }: World,
  planned: readonly NetworkMonitor[],
): Promise<NetworkRecord['monitors']> {
  const actor = systemActor(system.context.accountId);
  const url = receivers.url(CHANNEL, '127.0.0.1');
  await createChannel(system.context, actor, { name: CHANNEL, url, monitorIds: [], allMonitors: true });
  const created: NetworkRecord['monitors'][number][] = [];
  const waiting = [...planned.entries()];
  const client = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, monitor] = next;
      const { key, byName, regions, failureThreshold, recoveryThreshold, retryInterval } = monitor;
      const { id } = await system.createMonitor({
        name: key,
        url: targets.url(key, byName ? nameOf(key) : addressOf(namespaces, index)),
        interval: monitor.intervalSeconds,
        timeout: monitor.timeoutSeconds,
        regions,
        failureThreshold,
        recoveryThreshold,
        retryInterval,
      });
      created.push({ ...monitor, id });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const missing = `select from monitor_regions where last_result_at is null
    union all select from monitors where status <> 'UP' limit 1`;
  await until(
    'each monitor to be UP',
    async () => (await stores.query(missing)).length === 0,
    READY_WITHIN_MS,
  );
  return created;
}

export async function setCanaries({ system }: World, monitors: NetworkRecord['monitors']): Promise<void> {
  const { request } = await openSession({ port: system.apiPort() });
  for (const region of REGIONS) {
    const canaries = monitors.filter(({ isCanary, regions }) => isCanary && regions.includes(region));
    const canaryMonitorIds = canaries.map(({ id }) => id);
    const response = await request('PUT', `/regions/${region}`, { canaryMonitorIds });
    if (!response.ok) throw new Error(`canaries: ${response.status} ${await response.text()}`);
  }
}

/** @throws Error if there is none */
export function checkerOf({ checkers }: World, region: string): Checker {
  const checker = checkers.find(({ network }) => network.region === region);
  if (checker === undefined) throw new Error(`unknown region ${region}`);
  return checker;
}
