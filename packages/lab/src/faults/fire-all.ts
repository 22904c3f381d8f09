import { setTimeout as wait } from 'node:timers/promises';
import type { FaultKind, PlannedFault } from './fault.ts';
import { groupBy } from '../oracle/history.ts';
import type { FiredFault } from '../oracle/record.ts';
import { replicasOf } from './replica-plans.ts';
import type { Scene } from './scene.ts';

/** A fault waits this long for its moment or its replica, and the others of its track wait with it. */
const PATIENCE_MS = { moment: 15_000, replica: 90_000 } as const;
const RETRY_MS = 500;

interface Firing {
  readonly kinds: readonly FaultKind[];
  readonly faults: readonly PlannedFault[];
  readonly startedAt: number;
  /** Faults are fired for this time. Afterwards, only kinds that were not fired yet follow. */
  readonly windowMs: number;
  /** The additional time for these kinds. Replicas are rarely ready on a slow machine. */
  readonly lateMs: number;
  /** The pause before a retry. Defaults to half a second. */
  readonly retryMs?: number;
}

/** Fires the faults of each track one after the other, and different tracks at the same time. */
export async function fireAll(scene: Scene, firing: Firing): Promise<FiredFault[]> {
  const tracks = [...groupBy(firing.faults, ({ track }) => track).values()];
  return (await Promise.all(tracks.map((faults) => fireTrack(scene, { ...firing, faults })))).flat();
}

/** A fault that could not be fired is retried after the next one, unless its kind follows anyway. */
async function fireTrack(
  scene: Scene,
  { kinds, faults, startedAt, windowMs, lateMs, retryMs = RETRY_MS }: Firing,
): Promise<FiredFault[]> {
  const waiting = [...faults];
  const done: FiredFault[] = [];
  for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
    const { name, victim } = fault;
    await wait(Math.max(0, startedAt + fault.atMs - Date.now()));
    const overMs = Date.now() - startedAt - windowMs;
    if (overMs > 0 && done.some((one) => one.name === name && one.firedAt !== null)) continue;
    if (overMs > lateMs) {
      done.push({ name, victim, firedAt: null, endedAt: null, note: 'it was too late' });
      continue;
    }
    const kind = kinds.find((one) => one.name === name);
    if (kind === undefined) throw new Error(`unknown kind of fault ${name}`);
    const deadline = Date.now() + PATIENCE_MS[kind.needsReplica ? 'replica' : 'moment'];
    const result = await fireFault({ ...scene, deadline }, kind, fault);
    done.push(result);
    const isHopeless = kind.offsetsSeconds !== undefined && scene.libfaketime === null;
    if (result.firedAt !== null || isHopeless) continue;
    await wait(retryMs);
    const isPlanned = waiting.some((one) => one.name === name);
    if (!isPlanned) waiting.splice(1, 0, { ...fault, victim: nextVictim(kind, victim) });
  }
  return done;
}

/** Fires a fault. Never throws, because a fault that fails counts as not fired. */
export async function fireFault(scene: Scene, kind: FaultKind, fault: PlannedFault): Promise<FiredFault> {
  const { name, victim } = fault;
  try {
    return { name, victim, firedAt: await kind.fire(scene, fault), endedAt: Date.now(), note: '' };
  } catch (error) {
    const note = error instanceof Error ? error.message : String(error);
    return { name, victim, firedAt: null, endedAt: Date.now(), note };
  }
}

/** Another replica may reach the stage of a signal sooner. */
function nextVictim({ victim: wanted, needsReplica }: FaultKind, victim: string | null): string | null {
  if (wanted === null || wanted === 'receiver' || needsReplica) return victim;
  const names = replicasOf(wanted);
  return names[(names.indexOf(victim ?? '') + 1) % names.length] ?? victim;
}
