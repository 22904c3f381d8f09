import { afterAll, expect, test } from '@jest/globals';
import { waveId, waveOf } from '@tocsin/core/schedule/slots';
import { until } from '@tocsin/embedded/testing/until';
import type { LeaderLoop } from '@tocsin/runtime/leader';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { commitMonitor, reconcilerOptions, storedWaves } from '../testing/schedules.ts';
import { openTestApi } from '../testing/test-api.ts';
import { openTestQueue } from '../testing/test-queue.ts';
import { Reconciler, startReconciler } from './reconciler.ts';
import { createScheduleMetrics } from './schedule-metrics.ts';

const loops: LeaderLoop[] = [];
const queue = await openTestQueue();
const api = await openTestApi();
afterAll(async () => {
  await Promise.all(loops.map((loop) => loop.stop()));
  await queue.close();
  await api.close();
});

/** Starts an api's reconciler. @returns whether it exports an audit */
function startCandidate(): () => Promise<boolean> {
  const registry = createMetrics();
  const reconciler = new Reconciler({
    ...reconcilerOptions(api, queue),
    metrics: createScheduleMetrics(registry),
    // Only the first run of a leader audits.
    auditEveryMs: 600_000,
  });
  loops.push(startReconciler(reconciler, api.databaseUrl, createSilentLogger()));
  return async () =>
    (await registry.getSingleMetricAsString('tocsin_schedule_audit_age_seconds')).includes(
      'region="default"',
    );
}

test('one process leads, and the next leader restores a flushed store at once', async () => {
  const { id } = await commitMonitor(api);
  const candidates = [startCandidate(), startCandidate()];
  const leaders = (): LeaderLoop[] => loops.filter((loop) => loop.isLeader());
  const isRestored = async (): Promise<boolean> =>
    (await storedWaves(queue)).includes(waveId(waveOf(id, 60))) && leaders().length === 1;
  await until('the first leader has audited', async () => {
    const audits = await Promise.all(candidates.map((hasAudited) => hasAudited()));
    return audits.includes(true) && isRestored();
  });

  await queue.redis.flushdb();
  await api.database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'tocsin leader' and datname = current_database()`,
  );
  await until('the leader after a lost connection has restored it', isRestored);

  const [leader] = leaders();
  await queue.redis.flushdb();
  await leader?.stop();
  await until('the leader after one that stopped has restored it', isRestored);
  expect(leaders()).not.toContain(leader);
});
