import { DnsServer, type ZoneEntry } from '@tocsin/egress/testing/dns-server';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { ApiClient } from '@tocsin/lab/api-client';
import { Registry } from '@tocsin/lab/load/registry';
import type { ChannelPlan } from '@tocsin/lab/load/world-plan';
import type { WorldScene } from '@tocsin/lab/load/world-scene';
import type { NetworkMonitor } from '@tocsin/lab/oracle/record';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { Namespaces, type RegionNetwork } from '@tocsin/lab/world/namespaces';
import { startSystem, type StartedSystem } from '@tocsin/lab/world/start-system';
import { REGIONS, type NetworkPlan } from './plan.ts';
import { TargetStates } from './target-states.ts';

const ZONE = 'networks.test';
const DNS_PORT = 53;
export const CHANNELS: readonly ChannelPlan[] = [{ key: 'receiver', kind: 'steady', monitors: null }];

interface Checker {
  readonly network: RegionNetwork;
  readonly service: ServiceProcess;
}

export interface Networks extends StartedSystem, WorldScene {
  readonly stores: StartedSystem['stores'];
  readonly targets: StartedSystem['targets'];
  readonly receivers: StartedSystem['receivers'];
  readonly namespaces: Namespaces;
  /** Addresses whose queries the name server ignores. */
  readonly ignored: Set<string>;
  readonly clock: { startedAt: number };
  readonly checkers: readonly Checker[];
}

export async function startNetworks(plan: NetworkPlan, teardown: Teardown): Promise<Networks> {
  const namespaces = await teardown.start(Namespaces.create(REGIONS), (one) => one.remove());
  const clock = { startedAt: Infinity };
  const states = new TargetStates(plan.monitors, clock);
  const started = await startSystem({
    name: 'networks',
    targets: { stateOf: (key, client) => states.respond(key, client), addresses: namespaces.targets },
    receivers: { keys: CHANNELS.map(({ key }) => key) },
    env: {
      REGIONS: REGIONS.join(','),
      DEFAULT_REGION: REGIONS[0],
      EGRESS_ALLOW_CIDRS: `127.0.0.0/8,${namespaces.block}`,
    },
    teardown,
  });
  const { system } = started;
  const addresses = new Map(
    plan.monitors.map(({ key }, index) => [key, namespaces.targets[index % namespaces.targets.length] ?? '']),
  );
  const zone = [...addresses].map(([key, address]): [string, ZoneEntry] => [
    `${key}.${ZONE}`,
    () => (states.plannedFor(key) === 'gone' ? [] : [address]),
  ]);
  const starting = DnsServer.start(Object.fromEntries(zone), DNS_PORT, namespaces.nameServer);
  const dns = await teardown.start(starting, (server) => server.stop());
  const ignored = new Set<string>();
  dns.ignores = (client) => ignored.has(client);
  const checkers: Checker[] = [];
  for (const network of namespaces.regions) {
    checkers.push({ network, service: await createChecker(started, network, teardown) });
  }
  const api = system.service('api');
  const services = [api, system.service('notifier'), ...checkers.map(({ service }) => service)];
  await Promise.all(services.map((service) => service.start()));
  return {
    ...started,
    namespaces,
    ignored,
    clock,
    checkers,
    api: new ApiClient([{ port: api.port, isReady: true }], system.apiKey),
    registry: new Registry(),
    hostOf: ({ key, byName }) => (byName ? `${key}.${ZONE}` : (addresses.get(key) ?? '')),
  };
}

/** Creates a checker in its region's namespace. It reaches the stores through proxies. The caller starts it. */
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

export async function setCanaries({ api, registry }: Networks): Promise<void> {
  for (const region of REGIONS) {
    const canaries = registry.monitors.filter(({ plan }) => {
      return (plan as NetworkMonitor).isCanary && plan.regions.includes(region);
    });
    const canaryMonitorIds = canaries.map(({ id }) => id);
    const { status, body } = await api.request('PUT', `/api/dashboard/regions/${region}`, {
      canaryMonitorIds,
    });
    if (status >= 300) throw new Error(`canaries: ${status} ${JSON.stringify(body)}`);
  }
}

export function checkerOf({ checkers }: Networks, region: string): Checker {
  const checker = checkers.find(({ network }) => network.region === region);
  if (checker === undefined) throw new Error(`unknown region ${region}`);
  return checker;
}
