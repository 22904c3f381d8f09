import { setTimeout as wait } from 'node:timers/promises';
import { holdOnce } from '../lab/hold-commits.ts';
import type { Slot } from '../lab/slot.ts';
import { trigger } from '../run/make-calls.ts';
import { cutMaintenance, planMaintenance } from '../run/maintenance.ts';
import type { KnownMonitor } from '../run/registry.ts';
import type { Scene } from '../run/scene.ts';
import type { Firing } from './fire-fault.ts';

const SOON_MS = 3_000;
const LASTS_MS = 26_000;
/** Transactions are held from so long before the window starts. */
const HELD_BEFORE_MS = 100;
/** One target recovers so long before the end of the window, the others fail until so long after it. */
const RECOVERS_BEFORE_END_MS = 9_000;
const FAILS_AFTER_END_MS = 12_000;
/** As long as a commit is held, nearly. */
const BEGUN_WITHIN_MS = 1_500;
const LOOK_EVERY_MS = 20;
const REST_MS = 500;

/**
 * Plans maintenance over monitors whose targets fail from its start, and kills all notifiers after one of them has begun it and before any
 * monitor has entered: until they are back, only recording checks can keep these failures from being alerts.
 */
export async function killAtMaintenance(scene: Scene): Promise<Firing> {
  const notifiers = scene.slots.filter(({ plan }) => plan.service === 'notifier');
  const taken: Slot[] = [];
  try {
    for (const slot of notifiers) {
      if (!(await slot.takeNext(scene.deadline))) return { missed: `${slot.name} was never ready` };
      taken.push(slot);
    }
    while (Date.now() < scene.deadline) {
      const firing = (await areUp(scene)) ? await tryOnce(scene, notifiers) : null;
      if (firing !== null) return firing;
      await wait(REST_MS);
    }
    return { missed: 'no notifier was about to enter the monitors of a window' };
  } finally {
    for (const slot of taken) slot.giveBack();
  }
}

async function tryOnce(scene: Scene, notifiers: readonly Slot[]): Promise<Firing | null> {
  const { registry, targets } = scene;
  const key = registry.nextKey('window-at-kill');
  const startsAt = Date.now() + SOON_MS;
  const endsAt = startsAt + LASTS_MS;
  const monitors = coveredMonitors(scene).map(({ plan }) => plan.key);
  await planMaintenance(scene, { key, monitors, startsAt, endsAt });
  monitors.forEach((monitor, index) => {
    const until = index === 0 ? endsAt - RECOVERS_BEFORE_END_MS : endsAt + FAILS_AFTER_END_MS;
    targets.failBetween(monitor, startsAt, until);
  });
  await wait(Math.max(0, startsAt - HELD_BEFORE_MS - Date.now()));
  const firedAt = await killAllAt(scene, key, notifiers).catch(() => null);
  if (firedAt !== null) {
    // Their failures are recorded before a notifier is back.
    void Promise.all(monitors.map((monitor) => trigger(scene, monitor, false)));
    return { firedAt, endedAt: firedAt };
  }
  for (const monitor of monitors) targets.failNoMore(monitor);
  await cutMaintenance(scene, key, 'delete');
  return null;
}

/** Holds the commit by which a notifier enters the monitors of a window, and kills all notifiers. @returns when; null: none came there */
async function killAllAt(scene: Scene, key: string, notifiers: readonly Slot[]): Promise<number | null> {
  const names = notifiers.map(({ name }) => name);
  let firedAt: number | null = null;
  await holdOnce(scene.stores, 'monitor updated', names, {
    onHeld: () => undefined,
    onReached: async () => {
      if (!(await isBegunOnly(scene, key))) return false;
      firedAt = Date.now();
      await Promise.all(notifiers.map((slot) => slot.signal('SIGKILL')));
      return true;
    },
  });
  return firedAt;
}

/** Waits a moment until the window runs. @returns whether it does, and none of its monitors has entered */
async function isBegunOnly({ stores }: Scene, key: string): Promise<boolean> {
  const until = Date.now() + BEGUN_WITHIN_MS;
  while (Date.now() < until) {
    const [row] = await stores.query<{ begun: boolean; entered: boolean }>(
      `select bool_or(w.state = 'running') as begun, bool_or(m.status = 'MAINTENANCE') as entered
       from maintenance_windows w
       join maintenance_window_monitors a on a.window_id = w.id
       join monitors m on m.id = a.monitor_id
       where w.name = $1`,
      [key],
    );
    if (row?.entered === true) return false;
    if (row?.begun === true) return true;
    await wait(LOOK_EVERY_MS);
  }
  return false;
}

function coveredMonitors({ registry }: Scene): KnownMonitor[] {
  return registry.monitors.filter(({ plan }) => plan.fate === 'covered');
}

/** Whether nothing of an earlier window is left. Postgres may be away. */
async function areUp(scene: Scene): Promise<boolean> {
  const ids = coveredMonitors(scene).map(({ id }) => id);
  const rows = await scene.stores
    .query(`select from monitors where id = any($1::uuid[]) and status = 'UP'`, [ids])
    .catch(() => []);
  return rows.length === ids.length;
}
