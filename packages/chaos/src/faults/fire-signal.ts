import { setTimeout as wait } from 'node:timers/promises';
import type { Slot } from '../lab/slot.ts';
import type { FaultAction } from '../plan/fault-kinds.ts';
import type { PlannedFault } from '../plan/plan-faults.ts';
import type { Scene } from '../run/scene.ts';
import { takeReady } from './fire-at-services.ts';
import type { Firing } from './fire-fault.ts';
import { reachStage } from './reach-stage.ts';

type SignalFault = Extract<FaultAction, { type: 'signal' }>;

/** Kills or freezes a replica at a stage of its work. */
export async function fireSignal(
  scene: Scene,
  { name, victim, lastsMs }: PlannedFault,
  { signal, service, stage }: SignalFault,
): Promise<Firing> {
  const slot = await takeReady(scene, victim);
  if (slot === null) return { missed: 'its replica was never ready' };
  let firedAt: number | null = null;
  const hit = async (): Promise<void> => {
    firedAt = Date.now();
    await slot.signal(signal);
  };
  try {
    const reached = await reachStage(scene, { slot, service, stage, name }, hit);
    if (!reached || firedAt === null) return { missed: 'its replica did not come to that stage' };
    if (signal === 'SIGKILL') return { firedAt, endedAt: firedAt };
    await wait(lastsMs);
    return { firedAt, endedAt: await thaw(slot) };
  } finally {
    if (signal === 'SIGSTOP') await slot.signal('SIGCONT');
    slot.giveBack();
  }
}

async function thaw(slot: Slot): Promise<number> {
  await slot.signal('SIGCONT');
  return Date.now();
}
