import { setTimeout as wait } from 'node:timers/promises';
import { groupBy } from '../oracle/history.ts';
import type { FiredFault } from '../oracle/record.ts';
import { Random } from '../random.ts';
import type { Chance, FaultKind } from './fault.ts';
import type { Scene } from './scene.ts';

/** If there is time to repeat faults, they fill this share of a track's time. */
const FILLED = 0.25;
const REPEATING_MS = 140_000;
/** Even a momentary fault counts as this long, because its victim restarts. */
const MIN_FAULT_MS = 5_000;
/** A fault waits up to this long for its moment. The others in its track wait with it. */
const PATIENCE_MS = 15_000;
const RETRY_MS = 500;
/** Additional time for kinds that have not been fired yet. Replicas are rarely ready on a slow machine. */
export const LATE_MS = 600_000;

interface Firing {
  readonly kinds: readonly FaultKind[];
  readonly seed: number;
  /** Faults are fired for this long. After that, only kinds that have not been fired yet follow. */
  readonly windowMs: number;
}

/** Fires each kind of fault at least once. Longer campaigns repeat them. */
export async function fireAll(scene: Scene, firing: Firing): Promise<FiredFault[]> {
  const tracks = [...groupBy(firing.kinds, ({ track }) => track).values()];
  return (await Promise.all(tracks.map((kinds) => fireTrack(scene, { ...firing, kinds })))).flat();
}

/** A fault that could not be fired is retried after the next one, unless its kind follows anyway. */
async function fireTrack(scene: Scene, { kinds, seed, windowMs }: Firing): Promise<FiredFault[]> {
  const startedAt = Date.now();
  const random = new Random(seed, kinds[0]?.track);
  const due = planTrack(kinds, random, windowMs);
  const fired: FiredFault[] = [];
  let turn = random.integer(0, 99);
  for (let next = due.shift(); next !== undefined; next = due.shift()) {
    const { kind, atMs, lastsMs } = next;
    await wait(Math.max(0, startedAt + atMs - Date.now()));
    const overMs = Date.now() - startedAt - windowMs;
    const wasFired = fired.some(({ name, firedAt }) => name === kind.name && firedAt !== null);
    if (overMs > LATE_MS || (overMs > 0 && wasFired)) continue;
    const fault = await fireFault(scene, kind, { turn, lastsMs, deadline: Date.now() + PATIENCE_MS });
    fired.push(fault);
    turn += 1;
    if (fault.firedAt !== null || due.some((one) => one.kind === kind)) continue;
    await wait(RETRY_MS);
    due.splice(1, 0, next);
  }
  return fired;
}

/** Fires a fault. Never throws, because a fault that fails counts as not fired. */
async function fireFault(scene: Scene, { name, fire }: FaultKind, chance: Chance): Promise<FiredFault> {
  try {
    const { firedAt, victim = null } = await fire(scene, chance);
    return { name, victim, firedAt, endedAt: Date.now(), note: '' };
  } catch (error) {
    const note = error instanceof Error ? error.message : String(error);
    return { name, victim: null, firedAt: null, endedAt: Date.now(), note };
  }
}

interface PlannedFault {
  readonly kind: FaultKind;
  /** The earliest time, in milliseconds since the start. */
  readonly atMs: number;
  readonly lastsMs: number;
}

function planTrack(kinds: readonly FaultKind[], random: Random, windowMs: number): PlannedFault[] {
  const choose = (kind: FaultKind) => ({ kind, lastsMs: random.integer(...kind.lastsMs) });
  const chosen = random.shuffle(kinds).map(choose);
  // A repeated long fault would fill the campaign.
  const repeatable =
    windowMs < REPEATING_MS ? [] : kinds.filter(({ lastsMs: [, max] }) => max <= windowMs / 4);
  const filledMs = (): number =>
    chosen.reduce((total, { lastsMs }) => total + Math.max(MIN_FAULT_MS, lastsMs), 0);
  while (repeatable.length > 0 && filledMs() < windowMs * FILLED)
    chosen.push(choose(random.pick(repeatable)));
  const everyMs = windowMs / chosen.length;
  return chosen.map((fault, index) => Object.assign(fault, { atMs: (index + random.next()) * everyMs }));
}
