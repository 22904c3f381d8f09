import { setTimeout as wait } from 'node:timers/promises';
import type { FaultAction } from '../plan/fault-kinds.ts';
import type { Scene } from '../run/scene.ts';
import type { Stores } from '../lab/stores.ts';
import type { Firing } from './fire-fault.ts';

type RedisFault = Extract<FaultAction, { type: 'redis' }>['what'];

const LOOK_EVERY_MS = 100;

/** Breaks Redis for a while. */
export async function fireRedis(
  { stores, deadline }: Scene,
  what: RedisFault,
  lastsMs: number,
): Promise<Firing> {
  const firedAt = Date.now();
  switch (what) {
    case 'kill':
      await stores.killRedis();
      await wait(lastsMs);
      await stores.startRedis();
      break;
    case 'flush':
      await stores.commandRedis((redis) => redis.flushall());
      break;
    case 'full':
      return fill(stores, lastsMs, deadline);
    case 'pause':
      stores.signalRedis('SIGSTOP');
      await wait(lastsMs);
      stores.signalRedis('SIGCONT');
      break;
  }
  return { firedAt, endedAt: Date.now() };
}

/** Its policy is `noeviction`: every write is refused, for so long, and until one was. */
async function fill(stores: Stores, lastsMs: number, deadline: number): Promise<Firing> {
  const firedAt = Date.now();
  const before = await countRefusals(stores);
  const isMet = async (): Promise<boolean> => (await countRefusals(stores)) > before;
  try {
    await stores.commandRedis((redis) => redis.config('SET', 'maxmemory', '1'));
    await wait(lastsMs);
    while (!(await isMet()) && Date.now() < deadline) await wait(LOOK_EVERY_MS);
    if (!(await isMet())) return { missed: 'nobody wrote to it' };
  } finally {
    await stores.commandRedis((redis) => redis.config('SET', 'maxmemory', '0'));
  }
  return { firedAt, endedAt: Date.now() };
}

/** Commands that Redis had no memory for, since it was started. */
async function countRefusals(stores: Stores): Promise<number> {
  const stats = await stores.commandRedis((redis) => redis.info('errorstats'));
  return Number(/^errorstat_OOM:count=(\d+)/m.exec(stats)?.[1] ?? 0);
}
