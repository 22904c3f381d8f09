import type { Teardown } from '@tocsin/embedded/program/teardown';
import { say } from '@tocsin/lab/command';
import type { PlannedFault } from '@tocsin/lab/faults/fault';
import { fireAll } from '@tocsin/lab/faults/fire-all';
import { faultKinds } from '@tocsin/lab/faults/kinds';
import { faultWindowMs, planFaults } from '@tocsin/lab/faults/plan-faults';
import { REPLICAS } from '@tocsin/lab/faults/replica-plans';
import { openScene } from '@tocsin/lab/faults/scene';
import { planCalls, type PlannedCall } from '@tocsin/lab/load/calls-plan';
import { followEvents, followMetrics } from '@tocsin/lab/load/followers';
import { createNeighbor, readNeighbor, readNeighborMet } from '@tocsin/lab/load/neighbor';
import { createWorld, sendCalls } from '@tocsin/lab/load/requests';
import { deliverTheRest, endCheckers, listUndelivered, settle } from '@tocsin/lab/load/settle';
import {
  MOODY_RECEIVERS,
  planNeighbor,
  planWorld,
  type NeighborPlan,
  type World,
} from '@tocsin/lab/load/world-plan';
import { readDatabase } from '@tocsin/lab/oracle/read-database';
import type { FaultRecord } from '@tocsin/lab/oracle/record';

/** The additional time for kinds of faults that were not fired yet, on a slow machine. */
const LATE_MS = 600_000;

interface CampaignPlan {
  readonly seed: number;
  readonly minutes: number;
  readonly world: World;
  readonly neighbor: readonly NeighborPlan[];
  readonly faults: readonly PlannedFault[];
  readonly calls: readonly PlannedCall[];
}

/** Plans a campaign. Pure. */
export function planCampaign(seed: number, minutes: number): CampaignPlan {
  const windowMs = faultWindowMs(minutes);
  const world = planWorld(seed, windowMs + LATE_MS);
  const faults = planFaults(seed, minutes, MOODY_RECEIVERS);
  const calls = planCalls(seed, windowMs, world);
  return { seed, minutes, world, neighbor: planNeighbor(seed), faults, calls };
}

/** Starts a system, fires the faults, and waits until the system has recovered. The teardown removes the logs. */
export async function runFaults(
  plan: CampaignPlan,
  libfaketime: string | null,
  teardown: Teardown,
): Promise<{ readonly record: FaultRecord; readonly logs: string }> {
  const { seed, minutes } = plan;
  say('Starting a system …');
  const scene = await openScene(plan.world, { libfaketime, teardown, steady: null });
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
  const settled = await settle(scene);
  const neighborEvidence = await readNeighborMet(scene);
  await endCheckers(scene);
  const left = await listUndelivered(scene);
  await deliverTheRest(scene);
  const record: FaultRecord = {
    campaign: 'faults',
    seed,
    startedAt,
    lastFaultAt,
    ...settled,
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
    ...left,
    serviceProblems,
    apiStatuses: api.statuses,
    neighbor: await readNeighbor(scene, neighbor),
    neighborEvidence,
    database: await readDatabase(scene.stores, { without: neighbor.map(({ id }) => id) }),
  };
  return { record, logs: scene.system.folder };
}
