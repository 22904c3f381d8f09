import { setTimeout as wait } from 'node:timers/promises';
import { seenBefore } from '@tocsin/embedded/testing/until';
import { write } from '../load/writes.ts';
import type { ServiceName } from '../service-process.ts';
import type { Checkpoint } from '../world/checkpoint.ts';
import { API_WRITES } from './api-writes.ts';
import { requireEffect, takeTurn, type Chance, type Fire } from './fault.ts';
import { hitAtCommit, type PausePoint } from './pause-commits.ts';
import type { Replica } from './replica.ts';
import { replicasOf, type Scene } from './scene.ts';

type When = 'before-commit' | 'after-commit';

interface Target extends Chance {
  readonly scene: Scene;
  readonly replica: Replica;
  /** Returns false if the replica cannot be hit at the moment. */
  readonly hit: () => Promise<boolean>;
}

/** Tries once to hit a replica at a stage of its work. @returns true if it was hit */
type Stage = (target: Target) => Promise<boolean>;

const RETRY_MS = 200;

export const STAGES: Readonly<Record<ServiceName, Readonly<Record<string, Stage>>>> = {
  api: { 'before-commit': atWrite('before-commit'), 'after-commit': atWrite('after-commit') },
  checker: {
    probing: atVisit(({ targets }) => targets.requests),
    'before-commit': atCommit('insert on events', 'before-commit'),
    'after-commit': atCommit('insert on events', 'after-commit'),
  },
  notifier: {
    'fan-out': atCommit('insert on deliveries', 'before-commit'),
    'before-send': atVisit(({ receivers }) => receivers.connections),
    'after-send': atVisit(({ receivers }) => receivers.webhooks),
    'before-commit': atCommit('insert on attempts', 'before-commit'),
    'after-commit': atCommit('insert on attempts', 'after-commit'),
  },
};

/** Kills or freezes a replica at a stage of its work. */
export function signalAt(service: ServiceName, signal: 'SIGKILL' | 'SIGSTOP', stage: Stage): Fire {
  return async (scene, chance) => {
    const replica = takeTurn(replicasOf(scene, service), chance.turn);
    let ending = null as Promise<number> | null;
    const end = async (firedAt: number): Promise<number> => {
      try {
        if (signal === 'SIGSTOP') {
          await wait(chance.lastsMs);
          await replica.signal('SIGCONT');
        }
      } finally {
        replica.release();
      }
      return firedAt;
    };
    const hit = async (): Promise<boolean> => {
      // Another fault may have acquired it.
      if (!replica.isReady || !replica.tryAcquire()) return false;
      const firedAt = Date.now();
      await replica.signal(signal);
      // This is not awaited, because the commit or visit must continue at once.
      ending = end(firedAt);
      return true;
    };
    const attempt = async (): Promise<boolean> =>
      replica.isReady && stage({ ...chance, scene, replica, hit });
    await seenBefore(chance.deadline, attempt, RETRY_MS);
    const firedAt = await ending;
    requireEffect(firedAt, 'its replica did not reach that stage');
    return { firedAt, victim: replica.name };
  };
}

/** Writes something else each time. A write without a response is repeated afterwards. */
function atWrite(when: When): Stage {
  return async ({ scene, replica, hit, turn }) => {
    const { point, prepare } = takeTurn(API_WRITES, turn);
    const prepared = await prepare(scene);
    if (prepared === null) return false;
    const { method, path, body, confirm } = prepared;
    let isConfirmed = false;
    const send = async (): Promise<void> => {
      const response = await scene.api.send(replica, method, path, body).catch(() => null);
      if (response === null || response.status >= 300) return;
      isConfirmed = true;
      confirm(response.body);
    };
    const replicas = [replica.name];
    const pause = { point, replicas, when, hit, onPausing: () => void send() };
    // Postgres may be unavailable.
    const isHit = await hitAtCommit(scene.stores, pause).catch(() => false);
    if (!isConfirmed) await write(scene, prepared);
    return isHit;
  };
}

function atCommit(point: PausePoint, when: When): Stage {
  return ({ scene, replica, hit }) =>
    // Postgres may be unavailable.
    hitAtCommit(scene.stores, { point, replicas: [replica.name], when, hit }).catch(() => false);
}

/** Holds a visit of a replica until it is hit. */
function atVisit<Visit extends { readonly address: string }>(
  checkpointOf: (scene: Scene) => Checkpoint<Visit>,
): Stage {
  return async ({ scene, replica, hit, deadline }) => {
    const isOwn = ({ address }: Visit): boolean => address === replica.plan.address;
    const held = await checkpointOf(scene).next(isOwn, Math.max(0, deadline - Date.now()));
    if (held === null) return false;
    try {
      return await hit();
    } finally {
      held.release();
    }
  };
}
