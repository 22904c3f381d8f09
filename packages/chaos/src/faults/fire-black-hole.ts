import { setTimeout as wait } from 'node:timers/promises';
import type { Slot } from '../lab/slot.ts';
import { isHealthy, readReadiness } from '../run/readiness.ts';
import { slotNamed, type Scene } from '../run/scene.ts';
import { leadingApi, takeLeader } from './fire-at-services.ts';
import type { Firing } from './fire-fault.ts';
import { isSeen } from './is-seen.ts';

/** Postgres ends the session of a leader that is cut off after 10 s; another api then leads within a few seconds. */
const REPLACED_WITHIN_MS = 25_000;
/** A service gives a connection up that was silent for 20 s, and then needs a moment for a new one. */
const RECOVERED_AFTER_MS = 25_000;
const RECOVERED_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 100;

/**
 * Loses everything between a replica and Postgres for a while. Connections of that time stay silent for good, and Postgres keeps their
 * sessions. It counts where the replica said that it was not ready, and where another api led instead of the one that led.
 * @param victim null: the api that leads
 */
export async function fireBlackHole(scene: Scene, victim: string | null, lastsMs: number): Promise<Firing> {
  const slot = await (victim === null ? takeLeader(scene, 'api') : takeVictim(scene, victim));
  if (slot === null) return { missed: victim === null ? 'nobody led' : 'its replica was never ready' };
  const firedAt = Date.now();
  slot.network.blackHole();
  const mending = wait(lastsMs).then(() => {
    slot.network.heal();
    return Date.now();
  });
  const isUnready = isSeen(firedAt + lastsMs, async () => (await readReadiness(slot)) === false);
  const isReplaced =
    victim !== null || isSeen(firedAt + REPLACED_WITHIN_MS, () => isAnotherLeading(scene, slot));
  const endedAt = await mending;
  // Results wait in it until then: killed now, it would take many of them with it.
  void untilRecovered(slot, firedAt).finally(() => slot.giveBack());
  if (!(await isUnready)) return { missed: `${slot.name} never said that it was not ready` };
  if (!(await isReplaced)) return { missed: `no other api led instead of ${slot.name}` };
  return { firedAt, endedAt };
}

async function takeVictim(scene: Scene, name: string): Promise<Slot | null> {
  const slot = slotNamed(scene, name);
  return (await slot.takeNext(scene.deadline)) ? slot : null;
}

/** Postgres may be away. */
async function isAnotherLeading(scene: Scene, slot: Slot): Promise<boolean> {
  const name = await leadingApi(scene).catch(() => null);
  return name !== null && name !== slot.name;
}

async function untilRecovered(slot: Slot, firedAt: number): Promise<void> {
  await wait(Math.max(0, firedAt + RECOVERED_AFTER_MS - Date.now()));
  while (Date.now() < firedAt + RECOVERED_WITHIN_MS && !(await isHealthy(slot))) await wait(LOOK_EVERY_MS);
}
