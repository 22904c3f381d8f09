import { setTimeout as wait } from 'node:timers/promises';
import { ADVISORY_LOCKS } from '@tocsin/db/database/leader-lease';
import type { ServiceName } from '@tocsin/lab/service-process';
import { clockOff } from '../lab/libfaketime.ts';
import type { Slot } from '../lab/slot.ts';
import { readReadiness } from '../run/readiness.ts';
import { slotNamed, type Scene } from '../run/scene.ts';
import type { Firing } from './fire-fault.ts';
import { isSeen } from './is-seen.ts';

const LOOK_EVERY_MS = 25;
const READY_WITHIN_MS = 60_000;
const ANSWERED_WITHIN_MS = 10_000;
/** What is between an answer and its reading is time as well. */
const CLOCK_TOLERANCE_MS = 15_000;

/** Kills the api that leads; of the notifiers, which have no leader, the one that was at work last. */
export async function killLeader(scene: Scene, service: 'api' | 'notifier'): Promise<Firing> {
  const slot = await takeLeader(scene, service);
  if (slot === null) return { missed: 'nobody led' };
  const firedAt = Date.now();
  await slot.signal('SIGKILL');
  slot.giveBack();
  return { firedAt, endedAt: firedAt };
}

/** Takes the replica that leads, or was at work last, for a fault. @returns null where there is none in time */
export async function takeLeader(scene: Scene, service: 'api' | 'notifier'): Promise<Slot | null> {
  while (Date.now() < scene.deadline) {
    const name = await (service === 'api' ? leadingApi(scene) : busiestNotifier(scene)).catch(() => null);
    const slot = scene.slots.find((one) => one.name === name);
    if (slot?.isReady === true && slot.take()) return slot;
    await wait(LOOK_EVERY_MS);
  }
  return null;
}

/** The replica whose session holds the lock of leaders; null: none. @throws Error while Postgres is away */
export async function leadingApi({ stores }: Scene): Promise<string | null> {
  const [row] = await stores.query<{ name: string }>(
    `select a.application_name as name from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.granted and l.objid = $1`,
    [ADVISORY_LOCKS.reconciler],
  );
  return row?.name ?? null;
}

async function busiestNotifier({ receivers, slots }: Scene): Promise<string | null> {
  const address = receivers.receipts.at(-1)?.address;
  return slots.find(({ plan }) => plan.address === address)?.name ?? null;
}

/**
 * Replaces a replica by one whose clock is off, and that one after a while by one whose clock is right. The first end is at once, as that
 * of a machine that starts again with a wrong clock; the second is clean. It counts where the process showed the wrong time, and where a
 * checker said that it was not ready.
 */
export async function fireClock(
  scene: Scene,
  victim: string | null,
  offsetSeconds: number,
  lastsMs: number,
): Promise<Firing> {
  if (scene.libfaketime === null) return { missed: 'there is no libfaketime' };
  const slot = slotNamed(scene, victim);
  if (!(await slot.takeNext(scene.deadline))) return { missed: 'its replica was never ready' };
  try {
    await slot.replace('SIGKILL', clockOff(scene.libfaketime, offsetSeconds));
    await untilStarted(slot);
    const firedAt = Date.now();
    const offMs = await clockOffset(slot).catch(() => 0);
    const isNoticed =
      slot.plan.service !== 'checker' ||
      isSeen(firedAt + lastsMs, async () => (await readReadiness(slot)) === false);
    await wait(lastsMs);
    const wasNoticed = await isNoticed;
    await endAndStart(scene, slot);
    const isOff = Math.abs(offMs - offsetSeconds * 1_000) < CLOCK_TOLERANCE_MS;
    if (!isOff) return { missed: `its clock was off by ${offMs} ms` };
    return wasNoticed ? { firedAt, endedAt: Date.now() } : { missed: 'the checker said that it was ready' };
  } finally {
    slot.giveBack();
  }
}

/** How far the clock of a replica is ahead, by the `Date` of its answers: whole seconds, as they are said there. */
async function clockOffset(slot: Slot): Promise<number> {
  const signal = AbortSignal.timeout(ANSWERED_WITHIN_MS);
  const { headers } = await fetch(`http://127.0.0.1:${slot.port}/healthz`, { signal });
  return Date.parse(headers.get('date') ?? '') - Date.now();
}

/** Replaces every replica by a new one, those of a service one after the other, as deployments of three services do. */
export async function restartAll(scene: Scene): Promise<Firing> {
  const firedAt = Date.now();
  const services = [...new Set(scene.slots.map(({ plan }) => plan.service))];
  const missed = await Promise.all(services.map((service) => restartService(scene, service)));
  const reason = missed.find((one) => one !== null);
  return reason === undefined ? { firedAt, endedAt: Date.now() } : { missed: reason };
}

/** @returns why it did not come about; null: it did */
async function restartService(scene: Scene, service: ServiceName): Promise<string | null> {
  for (const slot of scene.slots.filter(({ plan }) => plan.service === service)) {
    if (!(await slot.takeNext(Date.now() + READY_WITHIN_MS))) return `${slot.name} was never ready`;
    try {
      await endAndStart(scene, slot);
    } finally {
      slot.giveBack();
    }
  }
  return null;
}

/** As a deployment does it. */
async function endAndStart(scene: Scene, slot: Slot): Promise<void> {
  const askedAt = Date.now();
  const code = await slot.replace('SIGTERM');
  if (code !== 0) {
    const seconds = Math.round((Date.now() - askedAt) / 1_000);
    scene.troubles.push(`${slot.name} ended with ${code} ${seconds} s after SIGTERM`);
  }
  await untilStarted(slot);
}

async function untilStarted(slot: Slot): Promise<void> {
  const until = Date.now() + READY_WITHIN_MS;
  while (!slot.isReady && Date.now() < until) await wait(LOOK_EVERY_MS);
}
