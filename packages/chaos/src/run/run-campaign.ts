import type { Teardown } from '@tocsin/embedded/program/teardown';
import { countRefusals } from '../lab/poison.ts';
import type { CampaignRecord } from '../oracle/record.ts';
import { faultKinds } from '../plan/fault-kinds.ts';
import { planCalls, type PlannedCall } from '../plan/plan-calls.ts';
import { faultWindowMs, planFaults, type PlannedFault } from '../plan/plan-faults.ts';
import { type NeighbourPlan, planNeighbour } from '../plan/plan-neighbour.ts';
import { MOODY_RECEIVERS, planWorld, type World } from '../plan/plan-world.ts';
import { SLOTS } from '../plan/slots.ts';
import { createWorld } from './create-world.ts';
import { fireAll } from './fire-all.ts';
import { makeCalls } from './make-calls.ts';
import { countHungLookups, countUnreadable, createNeighbour, readNeighbour } from './neighbour.ts';
import { openScene } from './open-scene.ts';
import { readDatabase } from './read-database.ts';
import { deliverTheRest, endCheckers, listUndelivered, settle } from './settle.ts';
import { Tails } from './tails.ts';

/** On a slow machine kinds of faults that were not fired yet may take so much longer. */
const LATE_MS = 600_000;

export interface CampaignPlan {
  readonly seed: number;
  readonly minutes: number;
  readonly world: World;
  /** The monitors of another account. */
  readonly neighbour: readonly NeighbourPlan[];
  readonly faults: readonly PlannedFault[];
  readonly calls: readonly PlannedCall[];
}

/** A pure function of its arguments. */
export function planCampaign(seed: number, minutes: number): CampaignPlan {
  const windowMs = faultWindowMs(minutes);
  const world = planWorld(seed, windowMs + LATE_MS);
  return {
    seed,
    minutes,
    world,
    neighbour: planNeighbour(seed),
    faults: planFaults(seed, minutes, MOODY_RECEIVERS),
    calls: planCalls(seed, windowMs, world),
  };
}

export interface CampaignOptions {
  readonly plan: CampaignPlan;
  readonly libfaketime: string | null;
  readonly teardown: Teardown;
  readonly say: (line: string) => void;
  /** Called with what was seen and the folder of the logs, before that goes. */
  readonly onRecord: (record: CampaignRecord, folder: string) => Promise<void>;
}

/** Runs a campaign: a system, faults, and then quiet. */
export async function runCampaign(options: CampaignOptions): Promise<void> {
  const { plan, libfaketime, teardown, say } = options;
  say('Starting a system of its own …');
  const scene = await openScene({ world: plan.world, libfaketime, teardown });
  const { stores, neighbourTargets } = scene;
  await createWorld(scene, plan.world);
  const neighbour = await createNeighbour(stores, neighbourTargets, plan.neighbour);
  const startedAt = Date.now();
  const windowMs = faultWindowMs(plan.minutes);
  scene.targets.begin();
  const tails = new Tails(scene);
  tails.begin();
  say(`${plan.faults.length} faults …`);
  const [faults] = await Promise.all([
    fireAll(scene, { faults: plan.faults, startedAt, windowMs, lateMs: LATE_MS }),
    makeCalls(scene, plan.calls, startedAt),
  ]);
  scene.targets.finish();
  const lastFaultAt = Math.max(...faults.map(({ endedAt }) => endedAt ?? 0));
  say('No more faults: watching what becomes of it …');
  const { statuses, endedAt } = await settle(scene, Date.now());
  const unreadable = await countUnreadable(scene);
  await endCheckers(scene);
  const left = await listUndelivered(scene);
  await deliverTheRest(scene);
  const { registry, receivers, targets, troubles, api } = scene;
  const record: CampaignRecord = {
    seed: plan.seed,
    minutes: plan.minutes,
    startedAt,
    lastFaultAt,
    endedAt,
    kinds: faultKinds(plan.minutes).map(({ name }) => name),
    faults,
    replicas: SLOTS,
    monitors: registry.monitors,
    promised: registry.promised,
    channels: registry.channels,
    windows: registry.windows,
    redelivered: registry.redelivered,
    answers: targets.answers,
    receipts: receivers.receipts,
    strays: receivers.strays,
    tails: await tails.finish(),
    shown: statuses,
    ...left,
    serviceTroubles: troubles,
    apiStatuses: api.statuses,
    neighbour: await readNeighbour(stores, neighbourTargets, neighbour),
    neighbourMet: {
      refusals: await countRefusals(stores),
      hungLookups: await countHungLookups(scene),
      unreadable,
    },
    database: await readDatabase(
      stores,
      neighbour.map(({ id }) => id),
    ),
  };
  await options.onRecord(record, scene.folder);
}
