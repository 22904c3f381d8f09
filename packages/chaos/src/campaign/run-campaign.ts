import type { Teardown } from '@tocsin/embedded/program/teardown';
import type { PlannedFault } from '../faults/fault.ts';
import { faultKinds } from '../faults/kinds.ts';
import { readDatabase } from '../oracle/read-database.ts';
import type { CampaignRecord } from '../oracle/record.ts';
import { planCalls, type PlannedCall } from '../plan/calls.ts';
import { faultWindowMs, planFaults } from '../plan/faults.ts';
import { REPLICAS } from '../plan/replicas.ts';
import { MOODY_RECEIVERS, planNeighbor, planWorld, type NeighborPlan, type World } from '../plan/world.ts';
import { fireAll } from './fire-all.ts';
import { createNeighbor, readNeighbor, readNeighborMet } from './neighbor.ts';
import { createWorld, sendCalls } from './requests.ts';
import { followMetrics } from './scrapes.ts';
import { openScene } from './scene.ts';
import { deliverTheRest, endCheckers, listUndelivered, settle } from './settle.ts';
import { followEvents } from './tails.ts';

/** How much longer kinds of faults that were not fired yet may take on a slow machine. */
const LATE_MS = 600_000;

export interface CampaignPlan {
  readonly seed: number;
  readonly minutes: number;
  readonly world: World;
  /** The monitors of another account. */
  readonly neighbor: readonly NeighborPlan[];
  readonly faults: readonly PlannedFault[];
  readonly calls: readonly PlannedCall[];
}

/** A pure function of its arguments. */
export function planCampaign(seed: number, minutes: number): CampaignPlan {
  const windowMs = faultWindowMs(minutes);
  const world = planWorld(seed, windowMs + LATE_MS);
  const faults = planFaults(seed, minutes, MOODY_RECEIVERS);
  const calls = planCalls(seed, windowMs, world);
  return { seed, minutes, world, neighbor: planNeighbor(seed), faults, calls };
}

export interface CampaignTools {
  readonly libfaketime: string | null;
  readonly teardown: Teardown;
  readonly say: (line: string) => void;
}

/** Runs a campaign: starts a system, fires faults, and waits until it is quiet. The teardown removes the folder of the logs. */
export async function runCampaign(
  plan: CampaignPlan,
  { libfaketime, teardown, say }: CampaignTools,
): Promise<{ readonly record: CampaignRecord; readonly logs: string }> {
  const { seed, minutes } = plan;
  say('Starting a system …');
  const scene = await openScene(plan.world, libfaketime, teardown);
  await createWorld(scene, plan.world);
  const neighbor = await createNeighbor(scene, plan.neighbor);
  const startedAt = Date.now();
  const windowMs = faultWindowMs(minutes);
  const kinds = faultKinds(minutes);
  const { schedule, targets, receivers, registry, api, serviceProblems } = scene;
  schedule.startedAt = startedAt;
  const finishTails = followEvents(scene);
  const finishScrapes = followMetrics(scene);
  say(`Firing ${plan.faults.length} faults …`);
  const [faults] = await Promise.all([
    fireAll(scene, { kinds, faults: plan.faults, startedAt, windowMs, lateMs: LATE_MS }),
    sendCalls(scene, plan.calls, startedAt),
  ]);
  schedule.isFinal = true;
  const lastFaultAt = Math.max(...faults.map(({ endedAt }) => endedAt ?? 0));
  say('Waiting for the system to recover …');
  const { shown, endedAt } = await settle(scene, Date.now());
  const neighborEvidence = await readNeighborMet(scene);
  await endCheckers(scene);
  const left = await listUndelivered(scene);
  await deliverTheRest(scene);
  const record: CampaignRecord = {
    seed,
    minutes,
    startedAt,
    lastFaultAt,
    endedAt,
    kinds: kinds.map(({ name }) => name),
    faults,
    replicas: REPLICAS,
    monitors: registry.monitors,
    channels: registry.channels,
    windows: registry.windows,
    promised: registry.promised,
    redelivered: registry.redelivered,
    visits: targets.visits,
    receipts: receivers.receipts,
    strays: receivers.strays,
    tails: await finishTails(),
    scrapes: await finishScrapes(),
    shown,
    ...left,
    serviceProblems,
    apiStatuses: api.statuses,
    neighbor: await readNeighbor(scene, neighbor),
    neighborEvidence,
    database: await readDatabase(scene.stores, { without: neighbor.map(({ id }) => id) }),
  };
  return { record, logs: scene.system.folder };
}
