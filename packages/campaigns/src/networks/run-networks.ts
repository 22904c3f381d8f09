import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { say } from '@tocsin/lab/command';
import { createWorld } from '@tocsin/lab/load/requests';
import { untilDelivered, untilFinal } from '@tocsin/lab/load/settle';
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
import type { NetworkPlan } from './plan.ts';
import { CHANNELS, checkerOf, setCanaries, startNetworks, type Networks } from './world.ts';

const WATCH_EVERY_MS = 500;

/** Runs a campaign. The teardown removes the logs. */
export async function runNetworks(
  plan: NetworkPlan,
  hasCanaries: boolean,
  teardown: Teardown,
): Promise<{ readonly record: NetworkRecord; readonly logs: string }> {
  say('Starting a system with three networks …');
  const world = await startNetworks(plan, teardown);
  const { registry, targets, receivers, stores, checkers } = world;
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
    ...checkers.map(async ({ network: { region } }) => {
      // One after the other, because the next checker may take long to start.
      for (const kill of plan.kills)
        if (kill.region === region) kills.push(await playKill(world, kill, startedAt));
    }),
    waitUntil(startedAt + plan.endsAt),
  ]);
  const shown = await untilFinal(world);
  await untilDelivered(stores);
  const record: NetworkRecord = {
    campaign: 'networks',
    seed: plan.seed,
    startedAt,
    hasCanaries,
    plannedCuts: plan.cuts.length,
    monitors: (registry.monitors as MonitorFacts<NetworkMonitor>[]).map((monitor) => {
      const outages = monitor.plan.outages.map((outage) => atTime(outage, startedAt));
      return { ...monitor, plan: { ...monitor.plan, outages } };
    }),
    channels: registry.channels,
    cuts: cuts.toSorted(byStart),
    kills: kills.toSorted(byStart),
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

/** Returns the cut with its actual times. */
async function playCut(world: Networks, planned: Cut, startedAt: number): Promise<Cut> {
  const { namespaces, ignored } = world;
  const { kind, region } = planned;
  const { network } = checkerOf(world, region);
  const { from: start, until: end } = atTime(planned, startedAt);
  await waitUntil(start);
  const from = Date.now();
  if (kind === 'dns') ignored.add(network.internetAddress);
  else await namespaces.cut(network, kind);
  await waitUntil(end);
  if (kind === 'dns') ignored.delete(network.internetAddress);
  else await namespaces.restore(network, kind);
  return { ...planned, from, until: Date.now() };
}

/** Returns the loss with its actual times. */
async function playLoss(world: Networks, planned: Loss, startedAt: number): Promise<Loss> {
  const { network } = checkerOf(world, planned.region);
  const { from: start, until: end } = atTime(planned, startedAt);
  await waitUntil(start);
  const from = Date.now();
  await world.namespaces.startLoss(network, planned.percent);
  await waitUntil(end);
  await world.namespaces.stopLoss(network);
  return { ...planned, from, until: Date.now() };
}

/** Returns the time from the kill until the next checker was ready. */
async function playKill(
  world: Networks,
  { region, from }: RegionSpan,
  startedAt: number,
): Promise<RegionSpan> {
  const { service } = checkerOf(world, region);
  await waitUntil(startedAt + from);
  const killedAt = Date.now();
  await service.signal('SIGKILL');
  await service.start();
  return { region, from: killedAt, until: Date.now() };
}

/** Notes when Postgres shows a region as isolated. @returns a function that ends this and returns the times */
function watchIsolations({ stores }: Networks): () => Promise<RegionSpan[]> {
  const spans: { region: string; from: number; until: number }[] = [];
  const stopping = new AbortController();
  const look = async (): Promise<void> => {
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
  };
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      await look();
      await wait(WATCH_EVERY_MS);
    }
  })();
  return async () => {
    stopping.abort();
    await watching;
    return spans;
  };
}
