import { setTimeout as wait } from 'node:timers/promises';
import { ADVISORY_LOCKS } from '@tocsin/db/database/leader-lease';
import { seenBefore } from '@tocsin/embedded/testing/until';
import { SERVICE_NAMES, type ServiceName } from '../service-process.ts';
import { requireEffect, takeTurn, type Chance, type Effect, type Fire } from './fault.ts';
import { clockOff } from './libfaketime.ts';
import type { Replica } from './replica.ts';
import { replicasOf, type Scene } from './scene.ts';

const READY_WITHIN_MS = 60_000;
/** Includes the time until the response is read. */
const CLOCK_TOLERANCE_MS = 15_000;
/** Postgres ends the session of a leader after it has been cut off for 10 s. Another api leads a few seconds later. */
const REPLACED_WITHIN_MS = 25_000;
/** A service replaces a connection that has been silent for 20 s. */
const RECOVERED_AFTER_MS = 25_000;
const RECOVERED_WITHIN_MS = 90_000;

/** Kills the leading api, or the notifier that sent last, because notifiers have no leader. */
export function killLeader(service: 'api' | 'notifier'): Fire {
  return async (scene, { deadline }) => {
    const lastSender = (): string | undefined => {
      const address = scene.receivers.receipts.at(-1)?.address;
      return replicasOf(scene, 'notifier').find(({ plan }) => plan.address === address)?.name;
    };
    const findLeader = service === 'api' ? () => leadingApi(scene) : lastSender;
    const replica = await acquireLeader(scene, deadline, findLeader);
    const firedAt = Date.now();
    await replica.signal('SIGKILL');
    replica.release();
    return { firedAt, victim: replica.name };
  };
}

async function acquireLeader(
  { replicas }: Scene,
  deadline: number,
  findLeader: () => Promise<string | null> | string | undefined,
): Promise<Replica> {
  const leader = await seenBefore(deadline, async () => {
    const name = await findLeader();
    const replica = replicas.find((one) => one.name === name);
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
 * @param offsets in seconds. A positive offset sets the clock ahead
 */
export function setClock(service: ServiceName, offsets: readonly number[], libfaketime: string): Fire {
  return async (scene, { turn, lastsMs }) => {
    // A replica that had all wrong clocks would do no work in a whole campaign.
    const replica = takeTurn(replicasOf(scene, service), turn);
    const seconds = takeTurn(offsets, turn);
    return withReplica(replica, async () => {
      await replica.replace('SIGKILL', clockOff(libfaketime, seconds));
      await untilStarted(replica);
      const firedAt = Date.now();
      // The `Date` header has whole seconds.
      const { headers } = await replica.process.get('/healthz').catch(() => new Response());
      const offMs = Date.parse(headers.get('date') ?? new Date().toUTCString()) - Date.now();
      const isNoticed = service !== 'checker' || untilUnready(replica, firedAt + lastsMs);
      await wait(lastsMs);
      const wasNoticed = await isNoticed;
      await shutDownAndStart(scene, replica);
      requireEffect(
        Math.abs(offMs - seconds * 1_000) < CLOCK_TOLERANCE_MS,
        `its clock was off by ${offMs} ms`,
      );
      requireEffect(wasNoticed, 'the checker was ready');
      return { firedAt, victim: replica.name };
    });
  };
}

function untilUnready(replica: Replica, deadline: number): Promise<true | null> {
  return seenBefore(deadline, async () => (await replica.readReadiness()) === false);
}

async function withReplica<Result>(replica: Replica, work: () => Promise<Result>): Promise<Result> {
  await replica.acquire();
  try {
    return await work();
  } finally {
    replica.release();
  }
}

/** Replaces the replicas of each service one after the other, as the deployments of three services do. */
export async function restartAll(scene: Scene): Promise<Effect> {
  const firedAt = Date.now();
  await Promise.all(
    SERVICE_NAMES.map(async (service) => {
      for (const replica of replicasOf(scene, service))
        await withReplica(replica, () => shutDownAndStart(scene, replica));
    }),
  );
  return { firedAt };
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
 * Drops everything between a replica and Postgres for a while. The connections stay silent forever, and Postgres keeps their sessions.
 * The fault counts if the replica was not ready.
 */
export function blackHole(service: 'checker' | 'notifier'): Fire {
  return async (scene, chance) => {
    const replica = takeTurn(replicasOf(scene, service), chance.turn);
    await replica.acquire();
    return dropPackets(replica, chance);
  };
}

/** The fault also counts only if another api replaced the leader. */
export async function blackHoleLeader(scene: Scene, chance: Chance): Promise<Effect> {
  const replica = await acquireLeader(scene, Date.now() + READY_WITHIN_MS, () => leadingApi(scene));
  const isReplaced = seenBefore(Date.now() + REPLACED_WITHIN_MS, async () => {
    const name = await leadingApi(scene);
    return name !== null && name !== replica.name;
  });
  const effect = await dropPackets(replica, chance);
  requireEffect(await isReplaced, `no other api led instead of ${replica.name}`);
  return effect;
}

async function dropPackets(replica: Replica, { lastsMs }: Chance): Promise<Effect> {
  const firedAt = Date.now();
  replica.network.blackHole();
  const [wasUnready] = await Promise.all([untilUnready(replica, firedAt + lastsMs), wait(lastsMs)]);
  replica.network.heal();
  // Results wait in the replica until it recovers, and a kill would lose them.
  void untilRecovered(replica, firedAt).finally(() => replica.release());
  requireEffect(wasUnready, `${replica.name} stayed ready`);
  return { firedAt, victim: replica.name };
}

async function untilRecovered(replica: Replica, firedAt: number): Promise<void> {
  await wait(Math.max(0, firedAt + RECOVERED_AFTER_MS - Date.now()));
  await seenBefore(firedAt + RECOVERED_WITHIN_MS, () => replica.isHealthy());
}
