import { setTimeout as wait } from 'node:timers/promises';
import { seenBefore } from '@tocsin/embedded/testing/until';
import type { ServiceName } from '@tocsin/lab/service-process';
import { HELD_MS, holdCommit, type HoldPoint } from '../campaign/hold-commits.ts';
import type { Replica } from '../campaign/replica.ts';
import type { Scene } from '../campaign/scene.ts';
import type { Checkpoint } from '../world/checkpoint.ts';
import { prepareWrite } from './api-writes.ts';
import type { ApiWrite } from './fault.ts';

/** Where in its work a process is hit. */
export const STAGES = {
  api: ['before-commit', 'after-commit'],
  checker: ['probing', 'before-commit', 'after-commit'],
  notifier: ['fan-out', 'before-send', 'after-send', 'before-commit', 'after-commit'],
} as const satisfies Record<ServiceName, readonly string[]>;
export type Stage = (typeof STAGES)[ServiceName][number];

interface StageOf {
  readonly replica: Replica;
  readonly service: ServiceName;
  readonly stage: Stage;
  /** What an api is asked for when it is hit. */
  readonly write: ApiWrite | null;
}

/** @returns false if it cannot be hit now */
type Hit = () => Promise<boolean>;

const POLL_MS = 5;
/** Before the next try. */
const RETRY_MS = 200;
/** A check, or an attempt, is recorded by then, or never. */
const VISIBLE_WITHIN_MS = 3_000;

/** Waits until a replica is at this stage, and hits it there. It may not get there before the scene's deadline. */
export async function reachStage(scene: Scene, where: StageOf, hit: Hit): Promise<void> {
  switch (where.service) {
    case 'api':
      return reachInApi(scene, where, hit);
    case 'checker':
      return reachInChecker(scene, where, hit);
    case 'notifier':
      return reachInNotifier(scene, where, hit);
  }
}

/** Each try writes something else. A write without a response is repeated afterwards. */
async function reachInApi(scene: Scene, { replica, stage, write }: StageOf, hit: Hit): Promise<void> {
  while (Date.now() < scene.deadline) {
    const prepared = replica.isReady ? await prepareWrite(scene, write ?? 'monitor created') : null;
    if (prepared !== null) {
      const { point, send, isDone, finish } = prepared;
      let reached: boolean;
      if (stage === 'before-commit') {
        const whileHeld = { onHeld: () => void send(replica), onReached: hit };
        reached = await holdCommit(
          scene.stores,
          point,
          replica.name,
          Math.min(remainingMs(scene), HELD_MS),
          whileHeld,
        );
      } else {
        void send(replica);
        reached = await hitOnceVisible(scene, isDone, hit);
      }
      await finish();
      if (reached) return;
    }
    await wait(RETRY_MS);
  }
}

async function reachInChecker(scene: Scene, { replica, stage }: StageOf, hit: Hit): Promise<void> {
  if (stage === 'before-commit') return reachCommit(scene, 'checks recorded', replica, hit);
  const { requests } = scene.targets;
  if (stage === 'probing') return reachVisit(scene, requests, replica, hit);
  return reachVisit(scene, requests, replica, hit, ({ key }) => {
    const since = Date.now();
    const monitorId = scene.registry.monitors.find(({ plan }) => plan.key === key)?.id;
    return hasRow(
      scene,
      'select from events where monitor_id = $1 and region = $2 and timestamp >= to_timestamp($3 / 1000.0)',
      [monitorId, replica.plan.region, since],
    );
  });
}

async function reachInNotifier(scene: Scene, { replica, stage }: StageOf, hit: Hit): Promise<void> {
  const { connections, webhooks } = scene.receivers;
  if (stage === 'fan-out') return reachCommit(scene, 'status change fanned out', replica, hit);
  if (stage === 'before-commit') return reachCommit(scene, 'attempt recorded', replica, hit);
  if (stage === 'before-send') return reachVisit(scene, connections, replica, hit);
  if (stage === 'after-send') return reachVisit(scene, webhooks, replica, hit);
  return reachVisit(scene, webhooks, replica, hit, ({ id }) =>
    hasRow(
      scene,
      `select from attempts where delivery_id = $1
         and started_at + make_interval(secs => duration_ms / 1000.0) >= to_timestamp($2 / 1000.0)`,
      [id, Date.now() - VISIBLE_WITHIN_MS],
    ),
  );
}

/**
 * Holds the next visits of a replica until it was hit.
 * @param recorded a query for the recorded result of a visit; with it, the visit is released, and the replica is hit right after the
 *   result is recorded
 */
async function reachVisit<Visit extends { readonly address: string }>(
  scene: Scene,
  checkpoint: Checkpoint<Visit>,
  replica: Replica,
  hit: Hit,
  recorded?: (visit: Visit) => () => Promise<boolean>,
): Promise<void> {
  while (Date.now() < scene.deadline) {
    const isOwn = ({ address }: Visit): boolean => address === replica.plan.address;
    const held = await checkpoint.next(isOwn, remainingMs(scene));
    if (held === null) return;
    if (recorded === undefined) {
      const isHit = await hit();
      held.release();
      if (isHit) return;
      await wait(RETRY_MS);
    } else {
      const isRecorded = recorded(held.visit);
      held.release();
      if (await hitOnceVisible(scene, isRecorded, hit)) return;
    }
  }
}

async function reachCommit(scene: Scene, point: HoldPoint, replica: Replica, hit: Hit): Promise<void> {
  const whileHeld = { onHeld: () => undefined, onReached: hit };
  await holdCommit(scene.stores, point, replica.name, remainingMs(scene), whileHeld);
}

/** A query for a row. */
function hasRow({ stores }: Scene, text: string, values: readonly unknown[]): () => Promise<boolean> {
  return async () => (await stores.query(text, values)).length > 0;
}

/** Hits as soon as it is visible. Postgres may be unavailable meanwhile. */
async function hitOnceVisible(scene: Scene, isVisible: () => Promise<boolean>, hit: Hit): Promise<boolean> {
  const until = Math.min(Date.now() + VISIBLE_WITHIN_MS, scene.deadline);
  const isSeen = await seenBefore(until, () => isVisible().catch(() => false), POLL_MS);
  return isSeen !== null && hit();
}

function remainingMs(scene: Scene): number {
  return Math.max(0, scene.deadline - Date.now());
}
