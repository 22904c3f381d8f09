import { setTimeout as wait } from 'node:timers/promises';
import type { ServiceName } from '@tocsin/e2e/service-process';
import { holdCommit, type HoldPoint } from '../lab/hold-commits.ts';
import type { Slot } from '../lab/slot.ts';
import type { Stage } from '../plan/fault-kinds.ts';
import type { MonitorPlan } from '../plan/plan-world.ts';
import { createMonitor, monitorFields } from '../run/create-world.ts';
import type { Scene } from '../run/scene.ts';

/** Who is to be hit, and where in its work. */
export interface StageOf {
  readonly slot: Slot;
  readonly service: ServiceName;
  readonly stage: Stage;
  /** Of the fault. */
  readonly name: string;
}

type Hit = () => Promise<void>;

const LOOK_EVERY_MS = 5;
/** A check, or an attempt, is recorded by then, or never. */
const VISIBLE_WITHIN_MS = 3_000;

/** Waits until a replica is at this stage, and hits it there. @returns whether that came about */
export async function reachStage(scene: Scene, where: StageOf, hit: Hit): Promise<boolean> {
  switch (where.service) {
    case 'api':
      return reachInApi(scene, where, hit);
    case 'checker':
      return reachInChecker(scene, where, hit);
    case 'notifier':
      return reachInNotifier(scene, where, hit);
  }
}

/** A monitor is made for it: one more that must not be lost, once the client was told of it. */
async function reachInApi(scene: Scene, { slot, stage, name }: StageOf, hit: Hit): Promise<boolean> {
  const { api, registry, targets, stores } = scene;
  const plan = extraMonitor(`${name}-${registry.monitors.length}`);
  const url = targets.urlOf(plan);
  let over = false;
  const ask = async (): Promise<void> => {
    // The answer may be a 409 of a try before; whoever is asked then writes nothing and cannot be hit.
    while (!over) {
      await api.send(slot, 'POST', '/api/cli/monitors', monitorFields(plan, url)).catch(() => wait(200));
      if (await isStored(scene, plan.key).catch(() => false)) return;
    }
  };
  const asking = ask();
  const reached =
    stage === 'before-commit'
      ? await holdCommit(stores, 'monitor created', slot.name, withinMs(scene), hit)
      : await untilVisible(scene, withinMs(scene), () => isStored(scene, plan.key), hit);
  over = true;
  // Nobody waits for the one that was hit: the client goes to the next.
  registry.add(plan, await createMonitor(api, plan, url));
  await asking;
  return reached;
}

function extraMonitor(key: string): MonitorPlan {
  return {
    key,
    failureThreshold: 2,
    intervalSeconds: 5,
    timeoutSeconds: 2,
    regions: ['north'],
    fate: 'kept',
    byName: true,
    turns: [],
    finalState: 'up',
  };
}

async function isStored({ stores }: Scene, key: string): Promise<boolean> {
  const rows = await stores.query('select from monitors where external_id = $1', [key]);
  return rows.length > 0;
}

async function reachInChecker(scene: Scene, { slot, stage }: StageOf, hit: Hit): Promise<boolean> {
  if (stage === 'before-commit') return reachCommit(scene, 'checks recorded', slot, hit);
  const isFromIt = ({ address }: { address: string }): boolean => address === slot.plan.address;
  while (Date.now() < scene.deadline) {
    const held = await scene.targets.requests.next(isFromIt, withinMs(scene));
    if (held === null) return false;
    if (stage === 'probing') {
      await hit();
      held.release();
      return true;
    }
    held.release();
    const since = Date.now();
    const monitorId = scene.registry.monitors.find(({ plan }) => plan.key === held.visit.key)?.id;
    const isRecorded = (): Promise<boolean> =>
      isThere(
        scene,
        'select from events where monitor_id = $1 and region = $2 and timestamp >= to_timestamp($3 / 1000.0)',
        [monitorId, slot.plan.region, since],
      );
    if (await untilVisible(scene, VISIBLE_WITHIN_MS, isRecorded, hit)) return true;
  }
  return false;
}

async function reachInNotifier(scene: Scene, { slot, stage }: StageOf, hit: Hit): Promise<boolean> {
  const { receivers } = scene;
  const isFromIt = ({ address }: { address: string }): boolean => address === slot.plan.address;
  if (stage === 'fan-out') return reachCommit(scene, 'status change fanned out', slot, hit);
  if (stage === 'before-commit') return reachCommit(scene, 'attempt recorded', slot, hit);
  while (Date.now() < scene.deadline) {
    const checkpoint = stage === 'before-send' ? receivers.connections : receivers.webhooks;
    const held = await checkpoint.next(isFromIt, withinMs(scene));
    if (held === null) return false;
    if (stage !== 'after-commit') {
      await hit();
      held.release();
      return true;
    }
    const before = Date.now();
    held.release();
    const id = 'id' in held.visit ? held.visit.id : '';
    const isRecorded = (): Promise<boolean> =>
      isThere(
        scene,
        'select from attempts where delivery_id = $1 and started_at + make_interval(secs => duration_ms / 1000.0) >= to_timestamp($2 / 1000.0)',
        [id, before - VISIBLE_WITHIN_MS],
      );
    if (await untilVisible(scene, VISIBLE_WITHIN_MS, isRecorded, hit)) return true;
  }
  return false;
}

function reachCommit(scene: Scene, point: HoldPoint, slot: Slot, hit: Hit): Promise<boolean> {
  return holdCommit(scene.stores, point, slot.name, withinMs(scene), hit);
}

async function isThere({ stores }: Scene, text: string, values: readonly unknown[]): Promise<boolean> {
  return (await stores.query(text, values)).length > 0;
}

/** Looks until it is there, and hits right then. Postgres may be away meanwhile. */
async function untilVisible(
  scene: Scene,
  within: number,
  isVisible: () => Promise<boolean>,
  hit: Hit,
): Promise<boolean> {
  const until = Math.min(Date.now() + within, scene.deadline);
  while (Date.now() < until) {
    if (await isVisible().catch(() => false)) {
      await hit();
      return true;
    }
    await wait(LOOK_EVERY_MS);
  }
  return false;
}

function withinMs(scene: Scene): number {
  return Math.max(0, scene.deadline - Date.now());
}
