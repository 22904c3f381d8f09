import { setTimeout as wait } from 'node:timers/promises';
import { seenBefore } from '@tocsin/embedded/testing/until';
import { SERVICE_NAMES, type ServiceName } from '@tocsin/lab/service-process';
import type { Stores } from '@tocsin/lab/stores';
import type { Client } from 'pg';
import type { Scene } from '../campaign/scene.ts';
import { requireEffect, type Firing, type PlannedFault } from './fault.ts';

const READY_WITHIN_MS = 30_000;
const TOO_MANY_CONNECTIONS = '53300';
const RETRY_MS = 50;
/** Sessions that try to take all connections. */
const GREEDY_SESSIONS = 5;

/** Breaks a store, waits, and repairs it. */
async function during(
  lastsMs: number,
  breakIt: () => Promise<unknown> | void,
  repair: () => Promise<unknown> | void,
): Promise<Firing> {
  const firedAt = Date.now();
  await breakIt();
  await wait(lastsMs);
  await repair();
  return { firedAt, endedAt: Date.now() };
}

export function killRedis({ stores }: Scene, { lastsMs }: PlannedFault): Promise<Firing> {
  return during(
    lastsMs,
    () => stores.killRedis(),
    () => stores.startRedis(),
  );
}

export async function flushRedis({ stores }: Scene): Promise<Firing> {
  const firedAt = Date.now();
  await stores.withRedis((redis) => redis.flushall());
  return { firedAt, endedAt: Date.now() };
}

export function pauseRedis({ stores }: Scene, { lastsMs }: PlannedFault): Promise<Firing> {
  return during(
    lastsMs,
    () => stores.signalRedis('SIGSTOP'),
    () => stores.signalRedis('SIGCONT'),
  );
}

/** Its policy is `noeviction`: every write is refused, until at least one was. */
export async function fillRedis({ stores, deadline }: Scene, { lastsMs }: PlannedFault): Promise<Firing> {
  const firedAt = Date.now();
  const before = await countRefusals(stores);
  try {
    await stores.withRedis((redis) => redis.config('SET', 'maxmemory', '1'));
    await wait(lastsMs);
    const isMet = await seenBefore(deadline, async () => (await countRefusals(stores)) > before);
    requireEffect(isMet, 'no service wrote to it');
  } finally {
    await stores.withRedis((redis) => redis.config('SET', 'maxmemory', '0'));
  }
  return { firedAt, endedAt: Date.now() };
}

/** Commands that Redis had no memory for since it was started. */
async function countRefusals(stores: Stores): Promise<number> {
  const stats = await stores.withRedis((redis) => redis.info('errorstats'));
  return Number(/^errorstat_OOM:count=(\d+)/m.exec(stats)?.[1] ?? 0);
}

export function restartPostgres({ stores }: Scene, { lastsMs }: PlannedFault): Promise<Firing> {
  return during(
    lastsMs,
    () => stores.endPostgres('clean'),
    () => stores.startPostgres(),
  );
}

export function crashPostgres({ stores }: Scene, { lastsMs }: PlannedFault): Promise<Firing> {
  return during(
    lastsMs,
    () => stores.endPostgres('crash'),
    () => stores.startPostgres(),
  );
}

/**
 * Postgres only reads, as after an incomplete failover, until a replica of each service is not ready. It waits until one of each is
 * ready: an api cannot start meanwhile, and repeated faults would keep it from ever starting.
 */
export async function serveAsStandby(scene: Scene, { lastsMs }: PlannedFault): Promise<Firing> {
  const { stores, deadline } = scene;
  const seenForEach = async (until: number, isReady: boolean): Promise<boolean> => {
    const seen = SERVICE_NAMES.map((service) => seenBefore(until, () => hasReplica(scene, service, isReady)));
    return !(await Promise.all(seen)).includes(null);
  };
  requireEffect(await seenForEach(Date.now() + READY_WITHIN_MS, true), 'a service was never ready');
  const firedAt = Date.now();
  await stores.endPostgres('clean');
  await stores.startPostgresAsStandby();
  const [isNoticed] = await Promise.all([seenForEach(deadline, false), wait(lastsMs)]);
  await stores.promotePostgres();
  requireEffect(isNoticed, 'a service stayed ready');
  return { firedAt, endedAt: Date.now() };
}

async function hasReplica({ replicas }: Scene, service: ServiceName, isReady: boolean): Promise<boolean> {
  const running = replicas.filter((replica) => replica.plan.service === service && replica.isReady);
  return (await Promise.all(running.map((replica) => replica.readReadiness()))).includes(isReady);
}

/** Ends the sessions of all services. */
export async function endSessions({ stores, replicas }: Scene): Promise<Firing> {
  const firedAt = Date.now();
  const ended = await stores.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = any($1)',
    [replicas.map(({ name }) => name)],
  );
  requireEffect(ended.length > 0, 'no service had a session');
  return { firedAt, endedAt: Date.now() };
}

/** Takes every free connection, and then those of the services. */
export async function exhaustConnections(scene: Scene, { lastsMs }: PlannedFault): Promise<Firing> {
  const { stores, deadline } = scene;
  const sessions: Client[] = [];
  let firedAt: number | null = null;
  const isOver = (): boolean => Date.now() > (firedAt === null ? deadline : firedAt + lastsMs);
  const grab = async (): Promise<void> => {
    while (!isOver()) {
      try {
        sessions.push(await stores.connect('chaos greedy'));
      } catch (error) {
        const isFull = (error as { code?: string }).code === TOO_MANY_CONNECTIONS;
        if (isFull && firedAt === null) {
          firedAt = Date.now();
          // Services that keep their connections would not notice.
          await endSessions(scene).catch(() => undefined);
        }
        await wait(RETRY_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: GREEDY_SESSIONS }, grab));
  await Promise.all(sessions.map((client) => client.end().catch(() => undefined)));
  const fullAt = firedAt as number | null;
  requireEffect(fullAt, 'Postgres never ran out of connections');
  return { firedAt: fullAt, endedAt: Date.now() };
}
