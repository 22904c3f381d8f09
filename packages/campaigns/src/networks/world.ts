import { DnsServer, type ZoneEntry } from '@tocsin/egress/testing/dns-server';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { findFreePort } from '@tocsin/embedded/ports';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { ApiClient } from '@tocsin/lab/api-client';
import { Registry } from '@tocsin/lab/load/registry';
import type { ChannelPlan } from '@tocsin/lab/load/world-plan';
import type { WorldScene } from '@tocsin/lab/load/world-scene';
import { groupBy } from '@tocsin/lab/oracle/history';
import { regionOfAgent } from '@tocsin/lab/oracle/reachability';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { Namespaces } from '@tocsin/lab/world/namespaces';
import { startSystem, type StartedSystem } from '@tocsin/lab/world/start-system';
import { GATEWAYS, REGIONS, type NetworkPlan } from './plan.ts';
import { TargetStates } from './target-states.ts';

const ZONE = 'networks.test';
const DNS_PORT = 53;
export const CHANNELS: readonly ChannelPlan[] = [{ key: 'receiver', kind: 'steady', monitors: null }];

export interface Networks extends StartedSystem, WorldScene {
  readonly stores: StartedSystem['stores'];
  readonly targets: StartedSystem['targets'];
  readonly receivers: StartedSystem['receivers'];
  readonly namespaces: Namespaces;
  /** Addresses whose queries the name server ignores. */
  readonly ignored: Set<string>;
  readonly clock: { startedAt: number };
  /** The checker or agent of each network, and gateways, by name. */
  readonly services: ReadonlyMap<string, ServiceProcess>;
}

export async function startNetworks(plan: NetworkPlan, teardown: Teardown): Promise<Networks> {
  const namespaces = await teardown.start(Namespaces.create(plan.networks), (one) => one.remove());
  const clock = { startedAt: Infinity };
  const states = new TargetStates(plan.monitors, clock);
  const started = await startSystem({
    name: 'networks',
    targets: { stateOf: (key, client) => states.respond(key, client), addresses: namespaces.targets },
    receivers: { keys: CHANNELS.map(({ key }) => key) },
    env: {
      ...(!plan.hasAgents && { REGIONS: REGIONS.join(','), DEFAULT_REGION: REGIONS[0] }),
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
  const api = system.service('api');
  await Promise.all([api, system.service('notifier')].map((service) => service.start()));
  const create = plan.hasAgents ? createAgents : createCheckers;
  const services = await create(started, namespaces, teardown);
  await Promise.all([...services.values()].map((service) => service.start()));
  return {
    ...started,
    namespaces,
    ignored,
    clock,
    services,
    api: new ApiClient([{ port: api.port, isReady: true }], system.apiKey),
    registry: new Registry(),
    hostOf: ({ key, byName }) => (byName ? `${key}.${ZONE}` : (addresses.get(key) ?? '')),
  };
}

/** Creates gateways, and an agent in each namespace. It reaches them through a proxy. The caller starts all. */
async function createAgents(
  { system }: StartedSystem,
  { regions, gateway }: Namespaces,
  teardown: Teardown,
): Promise<Map<string, ServiceProcess>> {
  const services = new Map<string, ServiceProcess>();
  const urls: string[] = [];
  for (const label of GATEWAYS) {
    // The port stays the same after a kill.
    const port = await findFreePort();
    services.set(label, system.service('checker', { AGENT_PORT: String(port) }, { label }));
    urls.push(`http://127.0.0.1:${port}`);
  }
  const proxy = await teardown.start(TcpProxy.start(urls, { host: gateway }), (one) => one.stop());
  const networks = groupBy(regions, ({ region }) => regionOfAgent(region));
  for (const [region, ofRegion] of networks) {
    const token = await system.createAgentRegion(region);
    for (const { region: label, namespace } of ofRegion) {
      const launcher = ['ip', 'netns', 'exec', namespace] as const;
      const env = { AGENT_TOKEN: token, TOCSIN_URL: proxy.through(urls[0] ?? '') };
      services.set(label, system.service('agent', env, { label, launcher }));
    }
  }
  return services;
}

/** Creates a checker in each namespace. It reaches the stores through proxies. The caller starts all. */
async function createCheckers(
  { system }: StartedSystem,
  { regions }: Namespaces,
  teardown: Teardown,
): Promise<Map<string, ServiceProcess>> {
  const services = new Map<string, ServiceProcess>();
  for (const { region, namespace, storesHost: host } of regions) {
    const through = async (url: string): Promise<string> => {
      const proxy = await teardown.start(TcpProxy.start(url, { host }), (one) => one.stop());
      return proxy.through(url);
    };
    const env = {
      REGION: region,
      DATABASE_URL: await through(system.databaseUrl),
      QUEUE_URL: await through(system.queueUrl),
    };
    const launcher = ['ip', 'netns', 'exec', namespace] as const;
    services.set(region, system.service('checker', env, { label: `checker-${region}`, launcher }));
  }
  return services;
}

/** Sets the canaries of the regions that have some. */
export async function setCanaries({ api, registry }: Networks): Promise<void> {
  const canaries = registry.monitors.filter(({ plan }) => plan.key.startsWith('canary'));
  for (const [region, ofRegion] of groupBy(canaries, ({ plan }) => plan.regions[0] ?? '')) {
    const canaryMonitorIds = ofRegion.map(({ id }) => id);
    const { status, body } = await api.request('PUT', `/api/dashboard/regions/${region}`, {
      canaryMonitorIds,
    });
    if (status >= 300) throw new Error(`canaries: ${status} ${JSON.stringify(body)}`);
  }
}
