import { setTimeout as wait } from 'node:timers/promises';
import type { FaultAction } from '../plan/fault-kinds.ts';
import type { Scene } from '../run/scene.ts';
import type { Firing } from './fire-fault.ts';

type RedisFault = Extract<FaultAction, { type: 'redis' }>['what'];

/** Breaks Redis for a while. */
export async function fireRedis({ stores }: Scene, what: RedisFault, lastsMs: number): Promise<Firing> {
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
      // Its policy is `noeviction`: every write is refused.
      await stores.commandRedis((redis) => redis.config('SET', 'maxmemory', '1'));
      await wait(lastsMs);
      await stores.commandRedis((redis) => redis.config('SET', 'maxmemory', '0'));
      break;
    case 'pause':
      stores.signalRedis('SIGSTOP');
      await wait(lastsMs);
      stores.signalRedis('SIGCONT');
      break;
  }
  return { firedAt, endedAt: Date.now() };
}
