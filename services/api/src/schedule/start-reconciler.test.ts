import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSilentLogger } from '@tocsin/runtime/logger';
import type { LeaderLoop } from '@tocsin/runtime/leader';
import { createMetrics } from '@tocsin/runtime/metrics';
import { commitMonitor, storedSchedules } from '../testing/schedules.ts';
import { openTestApi } from '../testing/test-api.ts';
import type { TestApi } from '../testing/test-api.ts';
import { openTestQueue } from '../testing/test-queue.ts';
import type { TestQueue } from '../testing/test-queue.ts';
import { until } from '../testing/until.ts';
import { Reconciler } from './reconciler.ts';
import { createScheduleMetrics } from './schedule-metrics.ts';
import { startReconciler } from './start-reconciler.ts';

let api: TestApi;
let queue: TestQueue;
const logger = createSilentLogger();
beforeAll(async () => {
  queue = await openTestQueue();
  api = await openTestApi();
});
afterAll(async () => {
  await queue.close();
  await api.close();
});

const ids = async (region: string): Promise<string[]> =>
  (await storedSchedules(queue, region)).map((schedule) => schedule.id);

interface Candidate {
  readonly loop: LeaderLoop;
  /** Whether it knows of an audit of the default region. */
  readonly audited: () => Promise<boolean>;
}

function newCandidate(): Candidate {
  const registry = createMetrics();
  const reconciler = new Reconciler({
    db: api.context.db,
    producers: queue.producers,
    defaultRegion: 'default',
    regions: [],
    metrics: createScheduleMetrics(registry),
    logger,
  });
  const audited = async (): Promise<boolean> =>
    (await registry.getSingleMetricAsString('tocsin_schedule_audit_age_seconds')).includes(
      'region="default"',
    );
  return { loop: startReconciler(reconciler, api.databaseUrl, logger), audited };
}

/** Flushes the store after `harm`, and waits until one of the candidates has mended it. */
async function mendedAfter(
  harm: () => Promise<unknown>,
  id: string,
  candidates: Candidate[],
): Promise<number> {
  const startedAt = Date.now();
  await harm();
  await queue.redis.flushdb();
  await until(async () => (await ids('default')).includes(id) && leadersOf(candidates).length === 1);
  return Date.now() - startedAt;
}

const leadersOf = (candidates: Candidate[]): Candidate[] => candidates.filter(({ loop }) => loop.isLeader());

describe('leadership', () => {
  test('is with one process; whatever ends it, a flushed store is mended within 15 s', async () => {
    const candidates = [newCandidate(), newCandidate()];
    try {
      const { id } = await commitMonitor(api);
      const leader = await until(async () => {
        const [first, ...more] = leadersOf(candidates);
        return first && more.length === 0 && (await first.audited()) && first;
      });
      const others = candidates.filter((candidate) => candidate !== leader);
      expect(await Promise.all(others.map(({ audited }) => audited()))).toEqual([false]);

      const killConnection = (): Promise<unknown> =>
        api.database.pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where application_name = 'tocsin leader' and datname = current_database()`,
        );
      expect(await mendedAfter(killConnection, id, candidates)).toBeLessThan(15_000);

      const [second] = leadersOf(candidates);
      const stop = async (): Promise<void> => second?.loop.stop();
      expect(await mendedAfter(stop, id, candidates)).toBeLessThan(15_000);
      expect(leadersOf(candidates)).not.toContain(second);
    } finally {
      await Promise.all(candidates.map(({ loop }) => loop.stop()));
    }
    expect(leadersOf(candidates)).toEqual([]);
  });
});
