import type { RunningService } from '@tocsin/bench/lab/lab';
import { readHoldings, readUsage } from '@tocsin/bench/measure/proc';
import { until } from '@tocsin/embedded/testing/until';
import type { SystemLoad } from '../load/system-load.ts';
import type { Counted } from './trend.ts';

/** What is held, by the name of what is measured, as `api resident`; bytes, or a number of things. */
export type Sample = ReadonlyMap<string, number>;

/** How much each may grow in an hour and count as flat; see `boundOf`. */
const MOST_PER_HOUR = {
  /**
   * 15 bytes for each of the 1,080,000 checks of an hour at 300 a second. The smallest thing that JavaScript can keep takes as much, so whatever
   * keeps something for each check goes beyond it, and so do 400 bytes kept for each webhook.
   */
  bytes: 16_000_000,
  /** Half of that is what the samples of an unchanged process spread by; Redis and its allocator are steadier. */
  redisBytes: 4_000_000,
  /** A connection or a file that is forgotten once in a restart of anything would be more. */
  things: 12,
} as const;

/** Of a service that does not get the time for it, nothing can be said. */
const COLLECTED_WITHIN_MS = 60_000;

/**
 * What of the services and the stores is measured.
 * @param heaps whether also what heaps keep: for that each service stops and collects its garbage
 */
export async function takeSample(load: SystemLoad, heaps: boolean): Promise<Sample> {
  const { programs, redis, database } = load.lab;
  const sample = new Map<string, number>();
  const usage = readUsage(programs);
  const holdings = readHoldings(programs);
  await Promise.all(
    [...load.services].map(async ([name, service]) => {
      sample.set(`${name}, resident`, usage.get(name)?.rssBytes ?? Number.NaN);
      if (heaps) sample.set(`${name}, heap`, await readHeap(service));
      sample.set(`${name}, files`, holdings.get(name)?.descriptors ?? Number.NaN);
    }),
  );
  sample.set('postgres, private', holdings.get('postgres')?.privateBytes ?? Number.NaN);
  const connections = await database.pool.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where backend_type = 'client backend'`,
  );
  sample.set('postgres, connections', connections.rows[0]?.count ?? Number.NaN);
  const info = (await redis?.info()) ?? '';
  sample.set('redis, used', Number(/^used_memory:(\d+)/m.exec(info)?.[1]));
  sample.set('redis, clients', Number(/^connected_clients:(\d+)/m.exec(info)?.[1]));
  return sample;
}

/** How much a measured value may grow in an hour and count as flat. */
export function boundOf(name: string): number {
  if (!isBytes(name)) return MOST_PER_HOUR.things;
  return name.startsWith('redis') ? MOST_PER_HOUR.redisBytes : MOST_PER_HOUR.bytes;
}

/**
 * Which values of a measured thing count. The resident memory of a service dips each time that it is told to collect its garbage, now by 10 MB,
 * now by 50: that is of the measuring, and what is usual says what the service holds.
 */
export function countedOf(name: string): Counted {
  return name.endsWith('resident') ? 'median' : 'lowest';
}

export function isBytes(name: string): boolean {
  return /(resident|heap|private|used)$/.test(name);
}

/** What is used right after all garbage was collected. */
async function readHeap({ pid, healthPort }: RunningService): Promise<number> {
  const { collections } = await readMetrics(healthPort);
  process.kill(pid, 'SIGUSR2');
  const collected = async (): Promise<number | null> => {
    const metrics = await readMetrics(healthPort);
    return metrics.collections > collections ? metrics.heap : null;
  };
  return until('garbage to be collected', collected, COLLECTED_WITHIN_MS);
}

async function readMetrics(port: number): Promise<{ heap: number; collections: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return {
    heap: Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]),
    collections: Number(/^nodejs_gc_duration_seconds_count\{kind="major"\} (\S+)$/m.exec(text)?.[1] ?? 0),
  };
}
