import { setTimeout as wait } from 'node:timers/promises';
import { seenBefore } from '@tocsin/embedded/testing/until';
import type { Client } from 'pg';
import { SERVICE_NAMES } from '../service-process.ts';
import type { Stores } from '../stores.ts';
import { requireEffect, type Chance, type Effect, type Fire } from './fault.ts';
import { replicasOf, type Scene } from './scene.ts';

const READY_WITHIN_MS = 30_000;
const TOO_MANY_CONNECTIONS = '53300';
const RETRY_MS = 50;
/** Number of loops that take connections. */
const GREEDY_SESSIONS = 5;

type Change = (stores: Stores) => Promise<unknown> | void;

export function during(begin: Change, end?: Change): Fire {
  return async ({ stores }, { lastsMs }) => {
    const firedAt = Date.now();
    await begin(stores);
    await wait(lastsMs);
    await end?.(stores);
    return { firedAt };
  };
}

/** Redis rejects every write, because its policy is `noeviction`. Lasts until it has rejected at least one. */
export async function fillRedis({ stores }: Scene, { lastsMs, deadline }: Chance): Promise<Effect> {
  const firedAt = Date.now();
  const setLimit = (bytes: string): Promise<unknown> =>
    stores.withRedis((redis) => redis.config('SET', 'maxmemory', bytes));
  /** Counts the commands that Redis has rejected for lack of memory since its start. */
  const countRefusals = async (): Promise<number> => {
    const stats = await stores.withRedis((redis) => redis.info('errorstats'));
    return Number(/^errorstat_OOM:count=(\d+)/m.exec(stats)?.[1] ?? 0);
  };
  const before = await countRefusals();
  try {
    await setLimit('1');
    await wait(lastsMs);
    const isMet = await seenBefore(deadline, async () => (await countRefusals()) > before);
    requireEffect(isMet, 'no service wrote to it');
  } finally {
    await setLimit('0');
  }
  return { firedAt };
}

/**
 * Makes Postgres read-only, as after an incomplete failover, until a replica of each service is not ready. First waits until one of each
 * is ready, because an api cannot start during this fault.
 */
export async function serveAsStandby(scene: Scene, { lastsMs, deadline }: Chance): Promise<Effect> {
  const { stores } = scene;
  const seenForEach = async (until: number, isReady: boolean): Promise<boolean> => {
    const seen = SERVICE_NAMES.map((service) =>
      seenBefore(until, async () => {
        const running = replicasOf(scene, service).filter((replica) => replica.isReady);
        return (await Promise.all(running.map((one) => one.readReadiness()))).includes(isReady);
      }),
    );
    return !(await Promise.all(seen)).includes(null);
  };
  requireEffect(await seenForEach(Date.now() + READY_WITHIN_MS, true), 'a service was never ready');
  const firedAt = Date.now();
  await stores.endPostgres('clean');
  await stores.startPostgresAsStandby();
  const [isNoticed] = await Promise.all([seenForEach(deadline, false), wait(lastsMs)]);
  await stores.promotePostgres();
  requireEffect(isNoticed, 'a service stayed ready');
  return { firedAt };
}

export async function endSessions({ stores, replicas }: Scene): Promise<Effect> {
  const firedAt = Date.now();
  const ended = await stores.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = any($1)',
    [replicas.map(({ name }) => name)],
  );
  requireEffect(ended.length > 0, 'no service had a session');
  return { firedAt };
}

/** Takes every free connection, and then those of the services. */
export async function exhaustConnections(scene: Scene, { lastsMs, deadline }: Chance): Promise<Effect> {
  const { stores } = scene;
  const sessions: Client[] = [];
  let fullAt = null as number | null;
  const isOver = (): boolean => Date.now() > (fullAt === null ? deadline : fullAt + lastsMs);
  const grab = async (): Promise<void> => {
    while (!isOver()) {
      try {
        sessions.push(await stores.connect('lab greedy'));
      } catch (error) {
        const isFull = (error as { code?: string }).code === TOO_MANY_CONNECTIONS;
        if (isFull && fullAt === null) {
          fullAt = Date.now();
          // Services that keep their connections would not notice.
          await endSessions(scene).catch(() => undefined);
        }
        await wait(RETRY_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: GREEDY_SESSIONS }, grab));
  await Promise.all(sessions.map((client) => client.end().catch(() => undefined)));
  requireEffect(fullAt, 'Postgres never ran out of connections');
  return { firedAt: fullAt };
}
