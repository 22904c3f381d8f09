import { setTimeout as wait } from 'node:timers/promises';
import { fireFault } from '../faults/fire-fault.ts';
import type { FiredFault } from '../oracle/record.ts';
import type { FaultAction } from '../plan/fault-kinds.ts';
import type { PlannedFault } from '../plan/plan-faults.ts';
import { slotsOf } from '../plan/slots.ts';
import type { Scene } from './scene.ts';

/** How long a fault waits for its moment at a time; the others of its track wait with it. */
const PATIENCE_MS = { moment: 15_000, replica: 90_000 } as const;
/** They wait until no other fault has their replicas. */
const NEED_REPLICA: ReadonlySet<FaultAction['type']> = new Set([
  'clock',
  'rolling',
  'black hole',
  'maintenance',
]);
const REST_MS = 500;

export interface Firing {
  readonly faults: readonly PlannedFault[];
  readonly startedAt: number;
  /** How long the faults are to go on. After that only kinds come that were not fired yet. */
  readonly windowMs: number;
  /** How much longer those may take: on a slow machine replicas are rarely ready. */
  readonly lateMs: number;
  /** How long a fault rests before it is tried again. Default: half a second. */
  readonly restMs?: number;
}

/** Fires the faults of each track one after the other, those of different tracks side by side. */
export async function fireAll(scene: Scene, firing: Firing): Promise<FiredFault[]> {
  const tracks = [...new Set(firing.faults.map(({ track }) => track))];
  const fired = await Promise.all(
    tracks.map((track) => {
      const faults = firing.faults.filter((one) => one.track === track);
      return fireTrack(scene, { ...firing, faults });
    }),
  );
  return fired.flat();
}

/** A fault whose moment did not come is tried again after the next one, unless its kind comes again anyway. */
async function fireTrack(
  scene: Scene,
  { faults, startedAt, windowMs, lateMs, restMs = REST_MS }: Firing,
): Promise<FiredFault[]> {
  const waiting = [...faults];
  const done: FiredFault[] = [];
  for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
    const { name } = fault;
    await wait(Math.max(0, startedAt + fault.atMs - Date.now()));
    const overMs = Date.now() - startedAt - windowMs;
    if (overMs > 0 && done.some((one) => one.name === name && one.firedAt !== null)) continue;
    if (overMs > lateMs) {
      done.push({ name, victim: fault.victim, firedAt: null, endedAt: null, note: 'it was too late' });
      continue;
    }
    const patience = NEED_REPLICA.has(fault.action.type) ? 'replica' : 'moment';
    const deadline = Date.now() + PATIENCE_MS[patience];
    const result = await fireFault({ ...scene, deadline }, fault);
    done.push(result);
    if (result.firedAt !== null || isHopeless(scene, fault)) continue;
    await wait(restMs);
    if (!waiting.some((one) => one.name === name)) {
      waiting.splice(1, 0, { ...fault, victim: nextVictim(fault) });
    }
  }
  return done;
}

function isHopeless({ libfaketime }: Scene, { action }: PlannedFault): boolean {
  return action.type === 'clock' && libfaketime === null;
}

/** Another replica may come to that stage sooner. */
function nextVictim({ action, victim }: PlannedFault): string | null {
  if (action.type !== 'signal') return victim;
  const names = slotsOf(action.service).map(({ name }) => name);
  return names[(names.indexOf(victim ?? '') + 1) % names.length] ?? victim;
}
