import { readHoldings, readUsage } from '@tocsin/bench/measure/proc';
import type { SystemLoad } from '../load/system-load.ts';

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

/** What of the services and the stores is measured. */
export async function takeSample(load: SystemLoad): Promise<Sample> {
  const { programs, redis, database } = load.lab;
  const sample = new Map<string, number>();
  const usage = readUsage(programs);
  const holdings = readHoldings(programs);
  await Promise.all(
    [...load.services].map(async ([name, { healthPort }]) => {
      sample.set(`${name}, resident`, usage.get(name)?.rssBytes ?? Number.NaN);
      sample.set(`${name}, heap`, await readHeap(healthPort));
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

export function isBytes(name: string): boolean {
  return /(resident|heap|private|used)$/.test(name);
}

async function readHeap(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]);
}
