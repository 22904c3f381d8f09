import { readResources, readUsage } from '@tocsin/bench/measure/proc';
import { until } from '@tocsin/embedded/testing/until';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import type { Load } from '../load/start-load.ts';

/** Bytes, or a number of things, by the name of what is measured, such as `api, resident`. */
export type Sample = ReadonlyMap<string, number>;

/** A service that cannot collect its garbage within this time is too busy to be measured. */
const COLLECTED_WITHIN_MS = 60_000;

/** Measures the services and the stores. @param heaps whether to measure heaps, too: each service then pauses to collect its garbage */
export async function takeSample({ stores, services }: Load, heaps: boolean): Promise<Sample> {
  const pids = [...services].map(([name, { pid }]) => [name, pid] as const);
  const programs = new Map([...stores.pids, ...pids]);
  const sample = new Map<string, number>();
  const usage = readUsage(programs);
  const holdings = readResources(programs);
  await Promise.all(
    [...services].map(async ([name, service]) => {
      sample.set(`${name}, resident`, usage.get(name)?.rssBytes ?? Number.NaN);
      if (heaps) sample.set(`${name}, heap`, await readHeap(service));
      sample.set(`${name}, files`, holdings.get(name)?.descriptors ?? Number.NaN);
    }),
  );
  sample.set('postgres, private', holdings.get('postgres')?.privateBytes ?? Number.NaN);
  const sessions = await stores.query(`select from pg_stat_activity where backend_type = 'client backend'`);
  sample.set('postgres, connections', sessions.length);
  const info = await stores.withRedis((redis) => redis.info());
  sample.set('redis, used', Number(/^used_memory:(\d+)/m.exec(info)?.[1]));
  sample.set('redis, clients', Number(/^connected_clients:(\d+)/m.exec(info)?.[1]));
  return sample;
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
