import { setTimeout as wait } from 'node:timers/promises';
import { readUsage } from '@tocsin/bench/measure/proc';
import { until } from '@tocsin/embedded/testing/until';
import type { Replica } from '@tocsin/lab/faults/replica';
import type { Scene } from '@tocsin/lab/faults/scene';
import { trendOf, type Trend } from './trend.ts';

/** Measured bytes or counts by name, such as `api-1, resident`. */
export type Sample = ReadonlyMap<string, number>;

/** Trend of a measured value. `flat` is null if the run is too short for a verdict. */
export interface NamedTrend extends Omit<Trend, 'flat'> {
  readonly name: string;
  readonly flat: boolean | null;
}

/**
 * Node.js options that make SIGUSR2 collect all garbage. Between regular collections, a heap varies by more than a slow leak adds in half
 * an hour.
 */
export const HEAP_OPTIONS: readonly string[] = [
  '--expose-gc',
  '--import=data:text/javascript,process.on("SIGUSR2",()=>globalThis.gc())',
];
const SAMPLE_EVERY_MS = 5_000;
const HEAPS_EVERY = 12;
/** A service that cannot collect its garbage within this time is too busy to be measured. */
const COLLECTED_WITHIN_MS = 60_000;
/** In a shorter run, the warm-up of a process would look like a leak. */
const MIN_MINUTES = 10;
/** Values that grow by no more than this in an hour count as flat. */
const MAX_PER_HOUR = {
  /**
   * This is 15 bytes for each of the 1,080,000 checks in an hour at 300 per second. The smallest JavaScript value takes as much, so
   * anything kept per check exceeds the limit.
   */
  bytes: 16_000_000,
  /** Redis and its allocator are steadier than Node.js. */
  redisBytes: 4_000_000,
  /** If every restart leaked one connection or file, the limit would be exceeded. */
  things: 12,
} as const;

export async function sampleFor(scene: Scene, forMs: number): Promise<[number, Sample][]> {
  const samples: [number, Sample][] = [];
  const startedAt = performance.now();
  const everyMs = Math.min(SAMPLE_EVERY_MS, forMs / 10);
  for (let next = 0; next <= forMs; next += everyMs) {
    await wait(Math.max(0, startedAt + next - performance.now()));
    const heaps = samples.length % HEAPS_EVERY === 0;
    samples.push([performance.now() - startedAt, await takeSample(scene, heaps)]);
  }
  return samples;
}

/** @param heaps measures heaps, too. Each service then pauses to collect its garbage */
async function takeSample({ stores, replicas }: Scene, heaps: boolean): Promise<Sample> {
  const programs = new Map([
    ...stores.pids,
    ...replicas.map(({ name, process: { pid } }) => [name, pid] as const),
  ]);
  const sample = new Map<string, number>();
  const usage = readUsage(programs);
  await Promise.all(
    replicas.map(async (replica) => {
      const { name } = replica;
      sample.set(`${name}, resident`, usage.get(name)?.rssBytes ?? Number.NaN);
      if (heaps) sample.set(`${name}, heap`, await readHeap(replica));
      sample.set(`${name}, files`, usage.get(name)?.descriptors ?? Number.NaN);
    }),
  );
  sample.set('postgres, private', usage.get('postgres')?.privateBytes ?? Number.NaN);
  const sessions = await stores.query(`select from pg_stat_activity where backend_type = 'client backend'`);
  sample.set('postgres, connections', sessions.length);
  const info = await stores.withRedis((redis) => redis.info());
  sample.set('redis, used', Number(/^used_memory:(\d+)/m.exec(info)?.[1]));
  sample.set('redis, clients', Number(/^connected_clients:(\d+)/m.exec(info)?.[1]));
  return sample;
}

async function readHeap({ process: service }: Replica): Promise<number> {
  const read = async (): Promise<{ heap: number; collections: number }> => {
    const text = await service.metrics();
    return {
      heap: Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]),
      collections: Number(/^nodejs_gc_duration_seconds_count\{kind="major"\} (\S+)$/m.exec(text)?.[1] ?? 0),
    };
  };
  const before = await read();
  process.kill(service.pid, 'SIGUSR2');
  const collected = async (): Promise<number | null> => {
    const { heap, collections } = await read();
    return collections > before.collections ? heap : null;
  };
  return until('garbage to be collected', collected, COLLECTED_WITHIN_MS);
}

/** Returns the trend of everything that was sampled. @param samples in order; the first one is complete */
export function trendsOf(samples: readonly (readonly [number, Sample])[], minutes: number): NamedTrend[] {
  const names = [...(samples[0]?.[1].keys() ?? [])].sort();
  return names.map((name) => {
    // Heaps are measured less often.
    const points = samples.flatMap(([at, sample]) => {
      const value = sample.get(name);
      return value === undefined ? [] : [{ at, value }];
    });
    // Each requested collection makes resident memory dip by 10 to 50 MB, so its median is the actual usage.
    const counted = name.endsWith('resident') ? 'median' : 'lowest';
    const trend = trendOf(points, boundOf(name), counted);
    return Object.assign(trend, { name, flat: minutes < MIN_MINUTES ? null : trend.flat });
  });
}

function boundOf(name: string): number {
  if (!/(resident|heap|private|used)$/.test(name)) return MAX_PER_HOUR.things;
  return name.startsWith('redis') ? MAX_PER_HOUR.redisBytes : MAX_PER_HOUR.bytes;
}
