import { setTimeout as wait } from 'node:timers/promises';
import { seenBefore } from '@tocsin/embedded/testing/until';
import type { ServiceName } from '../service-process.ts';
import { PAUSE_MS, pauseCommit, type PausePoint } from './pause-commits.ts';
import type { Replica } from './replica.ts';
import type { Scene } from './scene.ts';
import type { Checkpoint } from '../world/checkpoint.ts';
import { prepareWrite } from './api-writes.ts';
import type { ApiWrite } from './fault.ts';

interface Target {
  readonly replica: Replica;
  readonly write: ApiWrite | null;
  readonly hit: () => Promise<boolean>;
}

/** Waits until a replica reaches a stage of its work, and hits it there. Resolves without a hit at the deadline of the scene. */
export type Reach = (scene: Scene, target: Target) => Promise<void>;

type Recorded = readonly [query: string, values: readonly unknown[]];

const POLL_MS = 5;
const RETRY_MS = 200;
/** A check or an attempt is recorded by then, or never. */
const VISIBLE_WITHIN_MS = 3_000;

export const STAGES: Readonly<Record<ServiceName, Readonly<Record<string, Reach>>>> = {
  api: { 'before-commit': atWrite(true), 'after-commit': atWrite(false) },
  checker: {
    probing: atVisit(({ targets }) => targets.requests),
    'before-commit': atCommit('checks recorded'),
    'after-commit': atVisit(
      ({ targets }) => targets.requests,
      ({ registry }, { key }, { plan }): Recorded => [
        'select from events where monitor_id = $1 and region = $2 and timestamp >= to_timestamp($3 / 1000.0)',
        [registry.monitors.find((monitor) => monitor.plan.key === key)?.id, plan.region, Date.now()],
      ],
    ),
  },
  notifier: {
    'fan-out': atCommit('status change fanned out'),
    'before-send': atVisit(({ receivers }) => receivers.connections),
    'after-send': atVisit(({ receivers }) => receivers.webhooks),
    'before-commit': atCommit('attempt recorded'),
    'after-commit': atVisit(
      ({ receivers }) => receivers.webhooks,
      (_, { id }): Recorded => [
        `select from attempts where delivery_id = $1
           and started_at + make_interval(secs => duration_ms / 1000.0) >= to_timestamp($2 / 1000.0)`,
        [id, Date.now() - VISIBLE_WITHIN_MS],
      ],
    ),
  },
};

/** Each try writes something else. A write without a response is repeated afterwards. */
function atWrite(isBeforeCommit: boolean): Reach {
  return async (scene, { replica, write, hit }) => {
    while (Date.now() < scene.deadline) {
      const prepared = replica.isReady ? await prepareWrite(scene, write ?? 'monitor created') : null;
      if (prepared !== null) {
        const { point, isDone, send, finish } = prepared;
        const onPaused = (): void => void send(replica);
        let isHit: boolean;
        if (isBeforeCommit) {
          const withinMs = Math.min(remainingMs(scene), PAUSE_MS);
          isHit = await pauseCommit(scene.stores, point, replica.name, withinMs, {
            onPaused,
            onReached: hit,
          });
        } else {
          onPaused();
          isHit = await hitOnceVisible(scene, isDone, hit);
        }
        await finish();
        if (isHit) return;
      }
      await wait(RETRY_MS);
    }
  };
}

function atCommit(point: PausePoint): Reach {
  return async (scene, { replica, hit }) => {
    await pauseCommit(scene.stores, point, replica.name, remainingMs(scene), { onReached: hit });
  };
}

/**
 * Holds visits of a replica until it is hit.
 * @param recorded returns a query for the result of a visit. The visit is then released, and the replica is hit once the result is stored
 */
function atVisit<Visit extends { readonly address: string }>(
  checkpointOf: (scene: Scene) => Checkpoint<Visit>,
  recorded?: (scene: Scene, visit: Visit, replica: Replica) => Recorded,
): Reach {
  return async (scene, { replica, hit }) => {
    const isOwn = ({ address }: Visit): boolean => address === replica.plan.address;
    while (Date.now() < scene.deadline) {
      const held = await checkpointOf(scene).next(isOwn, remainingMs(scene));
      if (held === null) return;
      const query = recorded?.(scene, held.visit, replica);
      if (query !== undefined) held.release();
      const isHit = await (query === undefined ? hit() : hitOnceVisible(scene, query, hit));
      held.release();
      if (isHit) return;
      if (query === undefined) await wait(RETRY_MS);
    }
  };
}

/** Hits as soon as the query returns a row. Postgres may be unavailable. */
async function hitOnceVisible(
  { stores, deadline }: Scene,
  query: Recorded,
  hit: Target['hit'],
): Promise<boolean> {
  const isVisible = async (): Promise<boolean> => (await stores.query(...query).catch(() => [])).length > 0;
  const until = Math.min(Date.now() + VISIBLE_WITHIN_MS, deadline);
  return (await seenBefore(until, isVisible, POLL_MS)) !== null && hit();
}

function remainingMs(scene: Scene): number {
  return Math.max(0, scene.deadline - Date.now());
}
