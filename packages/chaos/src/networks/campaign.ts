import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { seenBefore } from '@tocsin/embedded/testing/until';
import type { Stores } from '@tocsin/lab/stores';
import type { NetworkPlan } from './plan.ts';
import type { Cut, Kill, Loss, NetworkRecord, Span } from './record.ts';
import { checkerOf, createMonitors, setCanaries, startWorld, type World } from './world.ts';

const WATCH_EVERY_MS = 500;
/** Longer than any monitor may take to recover, for a busy machine. */
const SETTLED_WITHIN_MS = 60_000;

export interface CampaignOptions {
  readonly hasCanaries: boolean;
  readonly teardown: Teardown;
  readonly say: (line: string) => void;
}

/** Runs a campaign. The teardown removes the folder of the logs. */
export async function runNetworks(
  plan: NetworkPlan,
  { hasCanaries, teardown, say }: CampaignOptions,
): Promise<{ readonly record: NetworkRecord; readonly logs: string }> {
  say('Starting a system with three networks …');
  const world = await startWorld(plan, teardown);
  say(`Creating ${plan.monitors.length} monitors …`);
  const monitors = await createMonitors(world, plan.monitors);
  if (hasCanaries) await setCanaries(world, monitors);
  const delay = monitorEventLoopDelay();
  delay.enable();
  const startedAt = Date.now();
  world.clock.startedAt = startedAt;
  const minutes = (plan.endsAt / 60_000).toFixed(1);
  say(`Cutting regions off ${plan.cuts.length} times, in ${minutes} minutes …`);
  const watch = watchIsolations(world);
  const cuts: Cut[] = [];
  const kills: Kill[] = [];
  const losses: Loss[] = [];
  await Promise.all([
    ...plan.cuts.map(async (cut) => cuts.push(await playCut(world, cut, startedAt))),
    ...plan.losses.map(async (loss) => losses.push(await playLoss(world, loss, startedAt))),
    ...world.checkers.map(async ({ network: { region } }) => {
      // One after the other, because the next checker may take long to start.
      for (const kill of plan.kills)
        if (kill.region === region) kills.push(await playKill(world, kill, startedAt));
    }),
    waitUntil(startedAt + plan.endsAt),
  ]);
  const notUp = async (): Promise<string[]> => {
    const rows = await world.stores.query<{ id: string }>(`select id from monitors where status <> 'UP'`);
    return rows.map(({ id }) => id);
  };
  await seenBefore(Date.now() + SETTLED_WITHIN_MS, async () => (await notUp()).length === 0);
  const atTime = <Timed extends Span>(span: Timed): Timed => {
    return { ...span, from: span.from + startedAt, until: span.until + startedAt };
  };
  const withTimes = (monitor: NetworkRecord['monitors'][number]): typeof monitor => {
    return { ...monitor, outages: monitor.outages.map(atTime) };
  };
  const record: NetworkRecord = {
    seed: plan.seed,
    startedAt,
    hasCanaries,
    plannedCuts: plan.cuts.length,
    monitors: monitors.map(withTimes),
    cuts: cuts.toSorted((one, other) => one.from - other.from),
    kills: kills.toSorted((one, other) => one.from - other.from),
    losses: losses.toSorted((one, other) => one.from - other.from),
    isolations: await watch.stop(),
    notUp: await notUp(),
    endedAt: Date.now(),
    ...(await readStored(world.stores)),
    receipts: world.receivers.receipts,
    longestStallMs: Math.round(delay.max / 1e6),
  };
  return { record, logs: world.system.folder };
}

async function waitUntil(time: number): Promise<void> {
  await wait(Math.max(0, time - Date.now()));
}

/** @returns the cut with the times at which it began and ended */
async function playCut(world: World, { region, kind, ...planned }: Cut, startedAt: number): Promise<Cut> {
  const { namespaces } = world;
  const { network } = checkerOf(world, region);
  await waitUntil(startedAt + planned.from);
  const from = Date.now();
  if (kind === 'dns') world.ignored.add(network.internetAddress);
  else await namespaces.cut(network, kind);
  await waitUntil(startedAt + planned.until);
  if (kind === 'dns') world.ignored.delete(network.internetAddress);
  else await namespaces.restore(network, kind);
  return { region, kind, from, until: Date.now() };
}

/** @returns the loss with the times at which it began and ended */
async function playLoss(
  world: World,
  { region, percent, ...planned }: Loss,
  startedAt: number,
): Promise<Loss> {
  const { namespaces } = world;
  const { network } = checkerOf(world, region);
  await waitUntil(startedAt + planned.from);
  const from = Date.now();
  await namespaces.startLoss(network, percent);
  await waitUntil(startedAt + planned.until);
  await namespaces.stopLoss(network);
  return { region, percent, from, until: Date.now() };
}

/** @returns the kill with the times at which the checker was killed and the next one was ready */
async function playKill(world: World, { region, from }: Kill, startedAt: number): Promise<Kill> {
  const { service } = checkerOf(world, region);
  await waitUntil(startedAt + from);
  const killedAt = Date.now();
  await service.signal('SIGKILL');
  await service.start();
  return { region, from: killedAt, until: Date.now() };
}

/** Notes when Postgres shows a region as isolated. */
function watchIsolations({ stores }: World): { readonly stop: () => Promise<NetworkRecord['isolations']> } {
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
  return {
    stop: async () => {
      stopping.abort();
      await watching;
      return spans;
    },
  };
}

/** The content of Postgres that a campaign compares. */
async function readStored(stores: Stores): Promise<Pick<NetworkRecord, 'events' | 'changes'>> {
  return {
    events: await stores.query(
      `select monitor_id as "monitorId", region, (extract(epoch from timestamp) * 1000)::float8 as timestamp, status,
         (extract(epoch from slot) * 1000)::float8 as slot, latency_ms as "latencyMs", inconclusive
       from events order by timestamp`,
    ),
    changes: await stores.query(
      `select monitor_id as "monitorId", from_status as "from", to_status as "to", region,
         (extract(epoch from timestamp) * 1000)::float8 as timestamp
       from status_changes order by timestamp, id`,
    ),
  };
}
