import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { FiredFault } from '../oracle/record.ts';
import type { DnsTrouble } from '../plan/fault-kinds.ts';
import type { PlannedFault } from '../plan/plan-faults.ts';
import type { Scene } from '../run/scene.ts';
import { fireBlackHole } from './fire-black-hole.ts';
import { fireClock, killLeader, restartAll } from './fire-at-services.ts';
import { firePostgres } from './fire-postgres.ts';
import { fireReceiver } from './fire-receiver.ts';
import { fireRedis } from './fire-redis.ts';
import { fireSignal } from './fire-signal.ts';
import { killAtMaintenance } from './kill-at-maintenance.ts';

const LOOK_EVERY_MS = 100;

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
    case 'maintenance':
      return killAtMaintenance(scene);
    case 'redis':
      return fireRedis(scene, action.what, lastsMs);
    case 'postgres':
      return firePostgres(scene, action.what, lastsMs);
    case 'black hole':
      return fireBlackHole(scene, fault.victim, lastsMs);
    case 'receiver':
      return fireReceiver(scene, fault.victim ?? '', action.misbehaviour, lastsMs);
    case 'dns':
      return fireDns(scene, action.what, lastsMs);
    case 'clock':
      return fireClock(scene, fault.victim, fault.offsetSeconds ?? 60, lastsMs);
    case 'rolling':
      return restartAll(scene);
  }
}

/** For so long, and until a service has met it. */
async function fireDns({ dnsDownFile, deadline }: Scene, what: DnsTrouble, lastsMs: number): Promise<Firing> {
  const metFile = `${dnsDownFile}.met`;
  // What was under way when the last one ended.
  await rm(metFile, { force: true });
  const firedAt = Date.now();
  await writeFile(dnsDownFile, what);
  await wait(lastsMs);
  while (!existsSync(metFile) && Date.now() < deadline) await wait(LOOK_EVERY_MS);
  await rm(dnsDownFile);
  return existsSync(metFile) ? { firedAt, endedAt: Date.now() } : { missed: 'nobody asked for a name' };
}
