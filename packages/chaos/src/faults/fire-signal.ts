import { setTimeout as wait } from 'node:timers/promises';
import type { Slot } from '../lab/slot.ts';
import type { FaultAction, FaultSignal } from '../plan/fault-kinds.ts';
import type { PlannedFault } from '../plan/plan-faults.ts';
import { slotNamed, type Scene } from '../run/scene.ts';
import type { Firing } from './fire-fault.ts';
import { reachStage } from './reach-stage.ts';

type SignalFault = Extract<FaultAction, { type: 'signal' }>;

/** Kills or freezes a replica at a stage of its work. */
export async function fireSignal(
  scene: Scene,
  { victim, lastsMs, write }: PlannedFault,
  { signal, service, stage }: SignalFault,
): Promise<Firing> {
  const slot = slotNamed(scene, victim);
  const firings: Promise<Firing>[] = [];
  const hit = async (): Promise<boolean> => {
    // Another fault may have it just now.
    if (!slot.isReady || !slot.take()) return false;
    const firedAt = Date.now();
    await slot.signal(signal);
    // What it is kept from is let go at once; it goes on when its time is over.
    firings.push(recover(slot, signal, lastsMs).then((endedAt) => ({ firedAt, endedAt })));
    return true;
  };
  await reachStage(scene, { slot, service, stage, write }, hit);
  const [firing] = await Promise.all(firings);
  return firing ?? { missed: 'its replica did not come to that stage' };
}

async function recover(slot: Slot, signal: FaultSignal, lastsMs: number): Promise<number> {
  try {
    if (signal === 'SIGSTOP') {
      await wait(lastsMs);
      await slot.signal('SIGCONT');
    }
    return Date.now();
  } finally {
    slot.giveBack();
  }
}
