import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { say } from '@tocsin/lab/command';
import { repeat } from '@tocsin/lab/load/followers';
import { createWorld } from '@tocsin/lab/load/requests';
import { untilDelivered, untilFinal } from '@tocsin/lab/load/settle';
import { disturbancesOfRegions } from '@tocsin/lab/oracle/reachability';
import { readDatabase } from '@tocsin/lab/oracle/read-database';
import type {
  Cut,
  Loss,
  MonitorFacts,
  NetworkMonitor,
  NetworkRecord,
  RegionSpan,
  Span,
} from '@tocsin/lab/oracle/record';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import type { NetworkPlan } from './plan.ts';
import { CHANNELS, setCanaries, startNetworks, type Networks } from './world.ts';

const WATCH_EVERY_MS = 500;

export async function runNetworks(
  plan: NetworkPlan,
  hasCanaries: boolean,
  teardown: Teardown,
): Promise<{ readonly record: NetworkRecord; readonly logs: string }> {
  say(`Starting a system with ${plan.networks.length} networks …`);
  const world = await startNetworks(plan, teardown);
  const { registry, targets, receivers, stores, services } = world;
  say(`Creating ${plan.monitors.length} monitors …`);
  await createWorld(world, { monitors: plan.monitors, channels: CHANNELS }, '127.0.0.1');
  if (hasCanaries) await setCanaries(world);
  const delay = monitorEventLoopDelay();
  delay.enable();
  const startedAt = Date.now();
  world.clock.startedAt = startedAt;
  say(`Cutting regions off ${plan.cuts.length} times, in ${(plan.endsAt / 60_000).toFixed(1)} minutes …`);
  const stopWatching = watchIsolations(world);
  const cuts: Cut[] = [];
  const kills: RegionSpan[] = [];
  const losses: Loss[] = [];
  await Promise.all([
    ...plan.cuts.map(async (cut) => cuts.push(await playCut(world, cut, startedAt))),
    ...plan.losses.map(async (loss) => losses.push(await playLoss(world, loss, startedAt))),
    ...[...services].map(async ([name, service]) => {
      // One at a time, because the next process may take long to start.
      for (const kill of plan.kills)
        if (kill.region === name) kills.push(await playKill(kill, service, startedAt));
    }),
    waitUntil(startedAt + plan.endsAt),
  ]);
  const shown = await untilFinal(world);
  await untilDelivered(stores);
  const disturbances = { cuts: cuts.toSorted(byStart), kills: kills.toSorted(byStart) };
  const { regions } = world.namespaces;
  const addresses = new Map(regions.map(({ internetAddress, region }) => [internetAddress, region]));
  const record: NetworkRecord = {
    campaign: 'networks',
    seed: plan.seed,
    startedAt,
    hasCanaries: hasCanaries && !plan.hasAgents,
    plannedCuts: plan.cuts.length,
    monitors: (registry.monitors as MonitorFacts<NetworkMonitor>[]).map((monitor) => {
      const outages = monitor.plan.outages.map((outage) => atTime(outage, startedAt));
      return Object.assign(monitor, { plan: { ...monitor.plan, outages } });
    }),
    channels: registry.channels,
    ...(plan.hasAgents ? disturbancesOfRegions(disturbances) : disturbances),
    agents: plan.hasAgents ? { ...disturbances, addresses } : null,
    losses: losses.toSorted(byStart),
    isolations: await stopWatching(),
    shown,
    endedAt: Date.now(),
    visits: targets.visits,
    receipts: receivers.receipts,
    strays: receivers.strays,
    database: await readDatabase(stores, { without: [] }),
    longestStallMs: Math.round(delay.max / 1e6),
  };
  return { record, logs: world.system.folder };
}

function byStart(one: Span, other: Span): number {
  return one.from - other.from;
}

function atTime<Timed extends Span>(span: Timed, startedAt: number): Timed {
  return { ...span, from: span.from + startedAt, until: span.until + startedAt };
}

async function waitUntil(time: number): Promise<void> {
  await wait(Math.max(0, time - Date.now()));
}

/** Begins and ends a disturbance at its planned times. @returns the disturbance with its actual times */
async function play<Planned extends Span>(
  planned: Planned,
  startedAt: number,
  begin: () => unknown,
  end: () => unknown,
): Promise<Planned> {
  const times = atTime(planned, startedAt);
  await waitUntil(times.from);
  const from = Date.now();
  await begin();
  await waitUntil(times.until);
  await end();
  return { ...planned, from, until: Date.now() };
}

function playCut(world: Networks, planned: Cut, startedAt: number): Promise<Cut> {
  const { namespaces, ignored } = world;
  const { kind, region } = planned;
  const network = namespaces.network(region);
  const address = network.internetAddress;
  const begin = (): unknown => (kind === 'dns' ? ignored.add(address) : namespaces.cut(network, kind));
  const end = (): unknown => (kind === 'dns' ? ignored.delete(address) : namespaces.restore(network, kind));
  return play(planned, startedAt, begin, end);
}

function playLoss(world: Networks, planned: Loss, startedAt: number): Promise<Loss> {
  const network = world.namespaces.network(planned.region);
  const begin = (): unknown => world.namespaces.startLoss(network, planned.percent);
  return play(planned, startedAt, begin, () => world.namespaces.stopLoss(network));
}

/** Returns the time from the kill until the process was ready again. */
function playKill(kill: RegionSpan, service: ServiceProcess, startedAt: number): Promise<RegionSpan> {
  const begin = (): unknown => service.signal('SIGKILL');
  return play({ ...kill, until: kill.from }, startedAt, begin, () => service.start());
}

/** Records when Postgres lists a region as isolated. @returns a function that stops recording and returns the periods */
function watchIsolations({ stores }: Networks): () => Promise<RegionSpan[]> {
  const spans: { region: string; from: number; until: number }[] = [];
  const stop = repeat(WATCH_EVERY_MS, async () => {
    const rows = await stores.query<(typeof spans)[number]>(
      `select region, (extract(epoch from min(since)) * 1000)::float8 as "from",
         (extract(epoch from max(coalesce(ended_at, now()))) * 1000)::float8 as "until"
       from region_isolations where renewed_at > now() - interval '20 seconds' group by region`,
    );
    for (const row of rows) {
      const known = spans.findLast(({ region, until }) => region === row.region && until >= row.from);
      if (known === undefined) spans.push(row);
      else known.until = row.until;
    }
  });
  return async () => {
    await stop();
    return spans;
  };
}
