import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { FiredFault } from '../oracle/record.ts';
import type { PlannedFault } from '../plan/plan-faults.ts';
import type { Scene } from '../run/scene.ts';
import { fireClock, killLeader, restartAll } from './fire-at-services.ts';
import { firePostgres } from './fire-postgres.ts';
import { fireReceiver } from './fire-receiver.ts';
import { fireRedis } from './fire-redis.ts';
import { fireSignal } from './fire-signal.ts';

/** When a fault began and was over; null: its moment never came, and why. */
export type Firing = { readonly firedAt: number; readonly endedAt: number } | { readonly missed: string };

/** Fires a fault and mends it. Never throws: one that fails is one that was not fired. */
export async function fireFault(scene: Scene, fault: PlannedFault): Promise<FiredFault> {
  const { name, victim } = fault;
  try {
    const firing = await fire(scene, fault);
    if ('missed' in firing) return { name, victim, firedAt: null, endedAt: null, note: firing.missed };
    return { name, victim, ...firing, note: '' };
  } catch (error) {
    return { name, victim, firedAt: null, endedAt: Date.now(), note: String(error) };
  }
}

async function fire(scene: Scene, fault: PlannedFault): Promise<Firing> {
  const { action, lastsMs } = fault;
  switch (action.type) {
    case 'signal':
      return fireSignal(scene, fault, action);
    case 'leader':
      return killLeader(scene, action.service);
    case 'redis':
      return fireRedis(scene, action.what, lastsMs);
    case 'postgres':
      return firePostgres(scene, action.what, lastsMs);
    case 'receiver':
      return fireReceiver(scene, fault.victim ?? '', action.misbehaviour, lastsMs);
    case 'dns':
      return fireDns(scene, lastsMs);
    case 'clock':
      return fireClock(scene, fault.victim, fault.offsetSeconds ?? 60, lastsMs);
    case 'rolling':
      return restartAll(scene);
  }
}

async function fireDns({ dnsDownFile }: Scene, lastsMs: number): Promise<Firing> {
  const firedAt = Date.now();
  await writeFile(dnsDownFile, '');
  await wait(lastsMs);
  await rm(dnsDownFile);
  return { firedAt, endedAt: Date.now() };
}
