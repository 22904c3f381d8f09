import { setTimeout as wait } from 'node:timers/promises';
import type { ServiceName } from '@tocsin/lab/service-process';
import { HELD_MS, holdCommit, type HoldPoint } from '../lab/hold-commits.ts';
import type { Slot } from '../lab/slot.ts';
import type { ApiWrite, Stage } from '../plan/fault-kinds.ts';
import type { Scene } from '../run/scene.ts';
import { prepareWrite, type PreparedWrite } from './api-writes.ts';

/** Who is to be hit, and where in its work. */
export interface StageOf {
  readonly slot: Slot;
  readonly service: ServiceName;
  readonly stage: Stage;
  /** Of an api: what it is asked for, to be hit over it. */
  readonly write: ApiWrite | null;
}

/** @returns false where it cannot be hit now */
type Hit = () => Promise<boolean>;

const LOOK_EVERY_MS = 5;
/** Before the next try where it could not be hit. */
const REST_MS = 200;
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

/** Each try is about something of its own. What was asked for is asked for again afterwards where no answer said that it is done. */
async function reachInApi(scene: Scene, { slot, stage, write }: StageOf, hit: Hit): Promise<boolean> {
  const reach = stage === 'before-commit' ? reachWriting : reachWritten;
  while (Date.now() < scene.deadline) {
    const prepared = slot.isReady ? await prepareWrite(scene, write ?? 'monitor created') : null;
    if (prepared !== null) {
      const reached = await reach(scene, slot, prepared, hit);
      await prepared.finish();
      if (reached) return true;
    }
    await wait(REST_MS);
  }
  return false;
}

function reachWriting(scene: Scene, slot: Slot, { point, ask }: PreparedWrite, hit: Hit): Promise<boolean> {
  const whileHeld = { onHeld: () => void ask(slot), onReached: hit };
  return holdCommit(scene.stores, point, slot.name, Math.min(withinMs(scene), HELD_MS), whileHeld);
}

function reachWritten(scene: Scene, slot: Slot, { ask, isDone }: PreparedWrite, hit: Hit): Promise<boolean> {
  void ask(slot);
  return untilVisible(scene, VISIBLE_WITHIN_MS, isDone, hit);
}

async function reachInChecker(scene: Scene, { slot, stage }: StageOf, hit: Hit): Promise<boolean> {
  if (stage === 'before-commit') return reachCommit(scene, 'checks recorded', slot, hit);
  const isFromIt = ({ address }: { address: string }): boolean => address === slot.plan.address;
  while (Date.now() < scene.deadline) {
    const held = await scene.targets.requests.next(isFromIt, withinMs(scene));
    if (held === null) return false;
    if (stage === 'probing') {
      const done = await hit();
      held.release();
      if (done) return true;
      await wait(REST_MS);
      continue;
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
      const done = await hit();
      held.release();
      if (done) return true;
      await wait(REST_MS);
      continue;
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
  const whileHeld = { onHeld: () => undefined, onReached: hit };
  return holdCommit(scene.stores, point, slot.name, withinMs(scene), whileHeld);
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
    if (await isVisible().catch(() => false)) return hit();
    await wait(LOOK_EVERY_MS);
  }
  return false;
}

function withinMs(scene: Scene): number {
  return Math.max(0, scene.deadline - Date.now());
}
