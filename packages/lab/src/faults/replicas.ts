import { setTimeout as wait } from 'node:timers/promises';
import { ADVISORY_LOCKS } from '@tocsin/db/database/leader-lease';
import { seenBefore } from '@tocsin/embedded/testing/until';
import { SERVICE_NAMES } from '../service-process.ts';
import { clockOff } from './libfaketime.ts';
import type { Replica } from './replica.ts';
import { replicaNamed, type Scene } from './scene.ts';
import { requireEffect, type Fire, type PlannedFault } from './fault.ts';
import type { Reach } from './stages.ts';

const READY_WITHIN_MS = 60_000;
/** Includes the time until the response is read. */
const CLOCK_TOLERANCE_MS = 15_000;
/** Postgres ends the session of a leader after it has been cut off for 10 s. Another api leads a few seconds later. */
const REPLACED_WITHIN_MS = 25_000;
/** A service replaces a connection that has been silent for 20 s. */
const RECOVERED_AFTER_MS = 25_000;
const RECOVERED_WITHIN_MS = 90_000;

/** Kills or freezes a replica at a stage of its work. */
export function signalAtStage(signal: 'SIGKILL' | 'SIGSTOP', reach: Reach): Fire {
  return async (scene, { victim, lastsMs, write }) => {
    const replica = replicaNamed(scene, victim);
    let firing = null as Promise<number> | null;
    const thaw = async (firedAt: number): Promise<number> => {
      try {
        if (signal === 'SIGSTOP') {
          await wait(lastsMs);
          await replica.signal('SIGCONT');
        }
        return firedAt;
      } finally {
        replica.release();
      }
    };
    const hit = async (): Promise<boolean> => {
      // Another fault may have acquired it.
      if (!replica.isReady || !replica.tryAcquire()) return false;
      const firedAt = Date.now();
      await replica.signal(signal);
      // Not awaited, because the commit or visit must continue at once.
      firing = thaw(firedAt);
      return true;
    };
    await reach(scene, { replica, write, hit });
    const firedAt = await firing;
    requireEffect(firedAt, 'its replica did not reach that stage');
    return firedAt;
  };
}

/** Kills the leading api, or the notifier that sent last, because notifiers have no leader. */
export async function killLeader(scene: Scene, service: 'api' | 'notifier'): Promise<number> {
  const replica = await acquireLeader(scene, service);
  const firedAt = Date.now();
  await replica.signal('SIGKILL');
  replica.release();
  return firedAt;
}

async function acquireLeader(scene: Scene, service: 'api' | 'notifier'): Promise<Replica> {
  const leader = await seenBefore(scene.deadline, async () => {
    const lastAddress = scene.receivers.receipts.at(-1)?.address;
    const name = service === 'api' ? await leadingApi(scene) : null;
    const replica = scene.replicas.find((one) =>
      service === 'api' ? one.name === name : one.plan.address === lastAddress,
    );
    return replica?.isReady === true && replica.tryAcquire() ? replica : null;
  });
  requireEffect(leader, 'no replica led');
  return leader;
}

/** Returns the name of the replica that holds the lock of the leader. Null if there is none, or Postgres is unavailable. */
async function leadingApi({ stores }: Scene): Promise<string | null> {
  const query = `select a.application_name as name from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.granted and l.objid = $1`;
  const rows = await stores.query<{ name: string }>(query, [ADVISORY_LOCKS.reconciler]).catch(() => []);
  return rows[0]?.name ?? null;
}

/**
 * Kills a replica and restarts it with a wrong clock. Later, shuts it down and restarts it with the right one. The fault counts if the
 * process showed the wrong time, and if a checker was not ready meanwhile.
 */
export async function setClock(
  scene: Scene,
  { victim, offsetSeconds, lastsMs }: PlannedFault,
): Promise<number> {
  const { libfaketime } = scene;
  requireEffect(libfaketime, 'libfaketime is not installed');
  const seconds = offsetSeconds ?? 0;
  const replica = replicaNamed(scene, victim);
  return withReplica(replica, scene.deadline, async () => {
    await replica.replace('SIGKILL', clockOff(libfaketime, seconds));
    await untilStarted(replica);
    const firedAt = Date.now();
    const offMs = await clockOffset(replica).catch(() => 0);
    const isNoticed = replica.plan.service !== 'checker' || untilUnready(replica, firedAt + lastsMs);
    await wait(lastsMs);
    const wasNoticed = await isNoticed;
    await shutDownAndStart(scene, replica);
    const isOff = Math.abs(offMs - seconds * 1_000) < CLOCK_TOLERANCE_MS;
    requireEffect(isOff, `its clock was off by ${offMs} ms`);
    requireEffect(wasNoticed, 'the checker was ready');
    return firedAt;
  });
}

/** Returns how far the clock of a replica is ahead in milliseconds, according to the `Date` header, which has whole seconds. */
async function clockOffset(replica: Replica): Promise<number> {
  const { headers } = await replica.process.get('/healthz');
  return Date.parse(headers.get('date') ?? '') - Date.now();
}

function untilUnready(replica: Replica, deadline: number): Promise<true | null> {
  return seenBefore(deadline, async () => (await replica.readReadiness()) === false);
}

async function withReplica<Result>(
  replica: Replica,
  deadline: number,
  work: () => Promise<Result>,
): Promise<Result> {
  requireEffect(await replica.acquire(deadline), `${replica.name} was never ready`);
  try {
    return await work();
  } finally {
    replica.release();
  }
}

/** Replaces the replicas of each service one after the other, as the deployments of three services do. */
export async function restartAll(scene: Scene): Promise<number> {
  const firedAt = Date.now();
  await Promise.all(
    SERVICE_NAMES.map(async (service) => {
      for (const replica of scene.replicas.filter(({ plan }) => plan.service === service)) {
        await withReplica(replica, Date.now() + READY_WITHIN_MS, () => shutDownAndStart(scene, replica));
      }
    }),
  );
  return firedAt;
}

async function shutDownAndStart({ serviceProblems }: Scene, replica: Replica): Promise<void> {
  const signalledAt = Date.now();
  const code = await replica.replace('SIGTERM');
  const seconds = Math.round((Date.now() - signalledAt) / 1_000);
  if (code !== 0) serviceProblems.push(`${replica.name} ended with ${code} ${seconds} s after SIGTERM`);
  await untilStarted(replica);
}

async function untilStarted(replica: Replica): Promise<void> {
  await seenBefore(Date.now() + READY_WITHIN_MS, () => replica.isReady);
}

/**
 * Drops everything between a replica and Postgres for a while. Without a victim, this is the leading api. The connections stay silent
 * forever, and Postgres keeps their sessions. The fault counts if the replica was not ready, and if another api replaced the leader.
 */
export async function blackHole(scene: Scene, { victim, lastsMs }: PlannedFault): Promise<number> {
  const replica = victim === null ? await acquireLeader(scene, 'api') : replicaNamed(scene, victim);
  if (victim !== null)
    requireEffect(await replica.acquire(scene.deadline), `${replica.name} was never ready`);
  const firedAt = Date.now();
  replica.network.blackHole();
  const healing = wait(lastsMs).then(() => replica.network.heal());
  const wasUnready = untilUnready(replica, firedAt + lastsMs);
  const isReplaced =
    victim !== null ||
    seenBefore(firedAt + REPLACED_WITHIN_MS, async () => {
      const name = await leadingApi(scene);
      return name !== null && name !== replica.name;
    });
  await healing;
  // Results wait in the replica until it recovers, and a kill would lose them.
  void untilRecovered(replica, firedAt).finally(() => replica.release());
  requireEffect(await wasUnready, `${replica.name} stayed ready`);
  requireEffect(await isReplaced, `no other api led instead of ${replica.name}`);
  return firedAt;
}

async function untilRecovered(replica: Replica, firedAt: number): Promise<void> {
  await wait(Math.max(0, firedAt + RECOVERED_AFTER_MS - Date.now()));
  await seenBefore(firedAt + RECOVERED_WITHIN_MS, () => replica.isHealthy());
}
