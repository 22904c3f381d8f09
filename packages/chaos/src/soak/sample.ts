import { readHoldings, readUsage } from '@tocsin/bench/measure/proc';
import { until } from '@tocsin/embedded/testing/until';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import type { SystemLoad } from '../load/system-load.ts';
import type { Counted } from './trend.ts';

/** Bytes, or a number of things, by the name of what is measured, such as `api, resident`. */
export type Sample = ReadonlyMap<string, number>;

/** By how much a value may grow in an hour and count as flat; see `boundOf`. */
const MAX_PER_HOUR = {
  /**
   * 15 bytes for each of the 1,080,000 checks of an hour at 300 a second. The smallest value that JavaScript can keep takes as much,
   * so anything that is kept for each check exceeds it, and so do 400 bytes for each webhook.
   */
  bytes: 16_000_000,
  /** The samples of an unchanged process spread by half of it; Redis and its allocator are steadier. */
  redisBytes: 4_000_000,
  /** A connection or a file that leaks with each restart of anything would be more. */
  things: 12,
} as const;

/** Nothing can be said about a service that has no time for a collection. */
const COLLECTED_WITHIN_MS = 60_000;

/** Measures the services and the stores. */
export class Sampler {
  readonly #load: SystemLoad;

  constructor(load: SystemLoad) {
    this.#load = load;
  }

  /** @param heaps whether to measure heaps too: for that each service pauses and collects its garbage */
  async take(heaps: boolean): Promise<Sample> {
    const { stores, services } = this.#load;
    const programs = new Map([
      ...stores.pids,
      ...[...services].map(([name, { pid }]) => [name, pid] as const),
    ]);
    const sample = new Map<string, number>();
    const usage = readUsage(programs);
    const holdings = readHoldings(programs);
    await Promise.all(
      [...services].map(async ([name, service]) => {
        sample.set(`${name}, resident`, usage.get(name)?.rssBytes ?? Number.NaN);
        if (heaps) sample.set(`${name}, heap`, await readHeap(service));
        sample.set(`${name}, files`, holdings.get(name)?.descriptors ?? Number.NaN);
      }),
    );
    sample.set('postgres, private', holdings.get('postgres')?.privateBytes ?? Number.NaN);
    const [connections] = await stores.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where backend_type = 'client backend'`,
    );
    sample.set('postgres, connections', connections?.count ?? Number.NaN);
    const info = await stores.withRedis((redis) => redis.info());
    sample.set('redis, used', Number(/^used_memory:(\d+)/m.exec(info)?.[1]));
    sample.set('redis, clients', Number(/^connected_clients:(\d+)/m.exec(info)?.[1]));
    return sample;
  }
}

/** By how much a value may grow in an hour and count as flat. */
export function boundOf(name: string): number {
  if (!isBytes(name)) return MAX_PER_HOUR.things;
  return name.startsWith('redis') ? MAX_PER_HOUR.redisBytes : MAX_PER_HOUR.bytes;
}

/**
 * Which values count. The resident memory of a service dips by 10 to 50 MB after each requested collection, which is an effect of measuring: the
 * median is the actual usage.
 */
export function countedOf(name: string): Counted {
  return name.endsWith('resident') ? 'median' : 'lowest';
}

export function isBytes(name: string): boolean {
  return /(resident|heap|private|used)$/.test(name);
}

/** The heap right after a collection of all garbage. */
async function readHeap(service: ServiceProcess): Promise<number> {
  const { collections } = await readMetrics(service);
  process.kill(service.pid, 'SIGUSR2');
  const collected = async (): Promise<number | null> => {
    const metrics = await readMetrics(service);
    return metrics.collections > collections ? metrics.heap : null;
  };
  return until('garbage to be collected', collected, COLLECTED_WITHIN_MS);
}

async function readMetrics(service: ServiceProcess): Promise<{ heap: number; collections: number }> {
  const text = await service.metrics();
  return {
    heap: Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]),
    collections: Number(/^nodejs_gc_duration_seconds_count\{kind="major"\} (\S+)$/m.exec(text)?.[1] ?? 0),
  };
}
