import { setTimeout as wait } from 'node:timers/promises';
import { seenBefore } from '@tocsin/embedded/testing/until';
import { cutMaintenance, trigger } from '../load/requests.ts';
import { planMaintenance, write } from '../load/writes.ts';
import { requireEffect, type Effect } from './fault.ts';
import { hitAtCommit } from './pause-commits.ts';
import type { Replica } from './replica.ts';
import { replicasOf, type Scene } from './scene.ts';

const STARTS_IN_MS = 3_000;
const LASTS_MS = 26_000;
/** Transactions are paused from this long before the window starts. */
const HELD_BEFORE_MS = 100;
/** One target recovers before the end of the window. The others fail until after the end. */
const RECOVERS_BEFORE_END_MS = 9_000;
const FAILS_AFTER_END_MS = 12_000;
/** Slightly less than a commit is paused. */
const STARTED_WITHIN_MS = 1_500;
const TRIED_FOR_MS = 90_000;
const RETRY_MS = 500;

/**
 * Plans maintenance over monitors whose targets fail from its start. Kills all notifiers after one has started the window, before any
 * monitor has entered it. Until they are back, only recording checks can prevent false alerts.
 */
export async function killAtMaintenance(scene: Scene): Promise<Effect> {
  const notifiers = replicasOf(scene, 'notifier');
  const acquired: Replica[] = [];
  try {
    for (const replica of notifiers) {
      await replica.acquire();
      acquired.push(replica);
    }
    const tryIfUp = async (): Promise<boolean> => (await areUp(scene)) && tryOnce(scene, notifiers);
    const isHit = await seenBefore(Date.now() + TRIED_FOR_MS, tryIfUp, RETRY_MS);
    requireEffect(isHit, 'no notifier was about to put monitors into maintenance');
    return { firedAt: Date.now() };
  } finally {
    for (const replica of acquired) replica.release();
  }
}

/** Returns whether the covered monitors have left every earlier window. False while Postgres is unavailable. */
async function areUp({ registry, stores }: Scene): Promise<boolean> {
  const ids = registry.covered.map(({ id }) => id);
  const query = `select from monitors where id = any($1::uuid[]) and status = 'UP'`;
  return (await stores.query(query, [ids]).catch(() => [])).length === ids.length;
}

/** @returns true if a notifier was about to put the monitors into maintenance, and all notifiers were killed */
async function tryOnce(scene: Scene, notifiers: readonly Replica[]): Promise<boolean> {
  const { registry, schedule, stores } = scene;
  const key = registry.nextKey('window-at-kill');
  const startsAt = Date.now() + STARTS_IN_MS;
  const endsAt = startsAt + LASTS_MS;
  const monitors = registry.covered.map(({ plan }) => plan.key);
  await write(scene, planMaintenance(scene, { key, monitors, startsAt, endsAt }));
  for (const [index, monitor] of monitors.entries()) {
    const until = index === 0 ? endsAt - RECOVERS_BEFORE_END_MS : endsAt + FAILS_AFTER_END_MS;
    schedule.failures.set(monitor, { from: startsAt, until });
  }
  await wait(Math.max(0, startsAt - HELD_BEFORE_MS - Date.now()));
  const hit = async (): Promise<boolean> => {
    if (!(await isOnlyStarted(scene, key))) return false;
    await Promise.all(notifiers.map((replica) => replica.signal('SIGKILL')));
    return true;
  };
  const replicas = notifiers.map(({ name }) => name);
  const pause = { point: 'update on monitors', replicas, when: 'before-commit', hit } as const;
  if (await hitAtCommit(stores, pause).catch(() => false)) {
    // These failures are recorded before a notifier is back.
    void Promise.all(monitors.map((monitor) => trigger(scene, monitor, false)));
    return true;
  }
  for (const monitor of monitors) schedule.failures.delete(monitor);
  await cutMaintenance(scene, key, 'delete');
  return false;
}

/** Waits briefly for the window to run. @returns true if it runs and none of its monitors has entered it */
async function isOnlyStarted({ stores }: Scene, key: string): Promise<boolean> {
  const state = await seenBefore(Date.now() + STARTED_WITHIN_MS, async () => {
    const [row] = await stores.query<{ started: boolean; entered: boolean }>(
      `select bool_or(w.state = 'running') as started, bool_or(m.status = 'MAINTENANCE') as entered
       from maintenance_windows w
       join maintenance_window_monitors a on a.window_id = w.id
       join monitors m on m.id = a.monitor_id
       where w.name = $1`,
      [key],
    );
    return row && (row.entered || row.started) ? row : null;
  });
  return state !== null && !state.entered;
}
