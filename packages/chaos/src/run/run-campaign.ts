import { setTimeout as wait } from 'node:timers/promises';
import type { Teardown } from '@tocsin/bench/lab/teardown';
import { fireFault } from '../faults/fire-fault.ts';
import type { CampaignRecord, FiredFault } from '../oracle/record.ts';
import { planCalls, type PlannedCall } from '../plan/plan-calls.ts';
import { faultKinds } from '../plan/fault-kinds.ts';
import { faultWindowMs, planFaults, type PlannedFault } from '../plan/plan-faults.ts';
import { MOODY_RECEIVERS, planWorld, type World } from '../plan/plan-world.ts';
import { createWorld } from './create-world.ts';
import { makeCalls } from './make-calls.ts';
import { openScene } from './open-scene.ts';
import { readDatabase } from './read-database.ts';
import type { Scene } from './scene.ts';
import { deliverTheRest, endCheckers, listUndelivered, settle } from './settle.ts';
import { Tails } from './tails.ts';

/** A fault may wait for its moment so much longer than the faults were to go on. */
const LATE_MS = 40_000;

export interface CampaignPlan {
  readonly seed: number;
  readonly minutes: number;
  readonly world: World;
  readonly faults: readonly PlannedFault[];
  readonly calls: readonly PlannedCall[];
}

/** A pure function of its arguments. */
export function planCampaign(seed: number, minutes: number): CampaignPlan {
  const windowMs = faultWindowMs(minutes);
  const world = planWorld(seed, windowMs);
  return {
    seed,
    minutes,
    world,
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
  await createWorld(scene, plan.world);
  const startedAt = Date.now();
  scene.deadline = startedAt + faultWindowMs(plan.minutes) + LATE_MS;
  scene.targets.begin();
  const tails = new Tails(scene);
  tails.begin();
  say(`${plan.faults.length} faults …`);
  const [faults] = await Promise.all([
    fireAll(scene, plan.faults, startedAt),
    makeCalls(scene, plan.calls, startedAt),
  ]);
  scene.targets.finish();
  const lastFaultAt = Math.max(...faults.map(({ endedAt }) => endedAt ?? 0));
  say('No more faults: watching what becomes of it …');
  const { statuses, endedAt } = await settle(scene, Date.now());
  await endCheckers(scene);
  const undelivered = await listUndelivered(scene);
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
    monitors: registry.monitors,
    channels: registry.channels,
    answers: targets.answers,
    receipts: receivers.receipts,
    strays: receivers.strays,
    tails: await tails.finish(),
    shown: statuses,
    undelivered,
    serviceTroubles: troubles,
    apiStatuses: api.statuses,
    database: await readDatabase(scene.stores),
  };
  await options.onRecord(record, scene.folder);
}

/** Fires the faults of each track one after the other, those of different tracks side by side. */
async function fireAll(
  scene: Scene,
  faults: readonly PlannedFault[],
  startedAt: number,
): Promise<FiredFault[]> {
  const tracks = [...new Set(faults.map(({ track }) => track))];
  const fired = await Promise.all(
    tracks.map(async (track) => {
      const done: FiredFault[] = [];
      for (const fault of faults.filter((one) => one.track === track)) {
        await wait(Math.max(0, startedAt + fault.atMs - Date.now()));
        done.push(await fireFault(scene, fault));
      }
      return done;
    }),
  );
  return fired.flat();
}
