import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { waveId, waveOf } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { listWaves } from '@tocsin/db/monitor-regions/schedules';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { until } from '@tocsin/embedded/testing/until';
import { RegionSchedules } from '@tocsin/queue/schedules';
import type { LeaderLoop } from '@tocsin/runtime/leader';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { checkOnce, commitMonitor, storedJobs, storedSchedules } from '../testing/schedules.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { openTestQueue, type TestQueue } from '../testing/test-queue.ts';
import {
  AUDIT_EVERY_MS,
  EVERY_MS,
  Reconciler,
  REGION_TIMEOUT_MS,
  startReconciler,
  TAKE_OVER_EVERY_MS,
} from './reconciler.ts';
import { createScheduleMetrics } from './schedule-metrics.ts';

const PREFIX = 'tocsin:{checks.default}';
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
  /** How often it became the leader. */
  readonly leads: () => number;
  /** The number of its runs since then. */
  readonly runs: () => number;
  /** Whether it exports an audit of the default region. */
  readonly audited: () => Promise<boolean>;
  /** Does `work` between two of its runs: however slow the machine, it repairs nothing meanwhile. */
  readonly betweenRuns: (work: () => Promise<void>) => Promise<void>;
}

/** @param auditEveryMs default: as in the api */
function newCandidate(auditEveryMs?: number): Candidate {
  const registry = createMetrics();
  const reconciler = new Reconciler({
    db: api.context.db,
    producers: queue.producers,
    defaultRegion: 'default',
    regions: [],
    metrics: createScheduleMetrics(registry),
    logger,
    // Each run is awaited, however slow the machine.
    regionTimeoutMs: 600_000,
    ...(auditEveryMs !== undefined && { auditEveryMs }),
  });
  const audited = async (): Promise<boolean> =>
    (await registry.getSingleMetricAsString('tocsin_schedule_audit_age_seconds')).includes(
      'region="default"',
    );
  const run = reconciler.run.bind(reconciler);
  const begin = reconciler.begin.bind(reconciler);
  let [leads, runs] = [0, 0];
  let turn = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  };
  reconciler.begin = () => {
    [leads, runs] = [leads + 1, 0];
    begin();
  };
  reconciler.run = (signal) =>
    inTurn(async () => {
      const lead = leads;
      await run(signal);
      if (lead === leads && !signal.aborted) runs += 1;
    });
  const betweenRuns = (work: () => Promise<void>): Promise<void> =>
    inTurn(async () => {
      await reconciler.settle();
      await work();
    });
  return {
    loop: startReconciler(reconciler, api.databaseUrl, logger),
    leads: () => leads,
    runs: () => runs,
    audited,
    betweenRuns,
  };
}

/** Ways in which the store can differ from Postgres, for a monitor that was checked once and whose wave is in the store. */
const HARMS: readonly [string, (id: string, wave: string) => Promise<unknown>][] = [
  ['a flushed store', () => queue.redis.flushdb()],
  [
    'a lost delayed job',
    async (_id, wave) => {
      const [next = ''] = await queue.redis.zrangebyscore(`${PREFIX}:delayed`, 0, '+inf');
      await queue.redis.del(`${PREFIX}:${next}`);
      await queue.redis.zrem(`${PREFIX}:delayed`, next);
      await queue.redis.zadd(`${PREFIX}:repeat`, Date.now() - 60_000, wave);
    },
  ],
  [
    'a scheduler with an unknown name',
    () =>
      queue.producers.queue('check', 'default').upsertJobScheduler('unknown', { every: 60_000, offset: 1 }),
  ],
  [
    'a wave without monitors',
    () => new RegionSchedules(queue.producers, 'default').apply([{ intervalSeconds: 60, phaseMs: 30_001 }]),
  ],
  [
    'an interval that is missing in the store',
    (id) => updateMonitor(api.context, systemActor(api.account.id), id, { interval: 30 }, 'default'),
  ],
  [
    'a region that is missing in the store',
    (id) => updateMonitor(api.context, systemActor(api.account.id), id, { regions: ['eu'] }, 'default'),
  ],
  ['a deleted monitor', (id) => deleteMonitor(api.context.db, systemActor(api.account.id), id)],
];

/** Whether the store has exactly the waves of the monitors in Postgres, each with its next job. */
async function isRepaired(): Promise<boolean> {
  const wanted = await listWaves(api.context.db);
  for (const region of ['default', 'eu']) {
    const jobs = await storedJobs(queue, region);
    const stored = await storedSchedules(queue, region);
    const waves = (wanted.get(region) ?? []).map(waveId);
    const running = stored.filter(({ id, next }) => jobs.includes(`repeat:${id}:${next}`));
    if (
      !isDeepStrictEqual(
        running.map(({ id }) => id),
        waves,
      ) ||
      running.length !== stored.length
    )
      return false;
  }
  return true;
}

/** Flushes the store, ends the leadership of `leader` by `end`, and waits for the first run of the next leader. */
async function nextLeader(
  leader: Candidate,
  end: () => Promise<void> | void,
  candidates: readonly Candidate[],
): Promise<Candidate> {
  const former = new Map(candidates.map((candidate) => [candidate, candidate.leads()]));
  // The former leader repairs nothing in between.
  await leader.betweenRuns(async () => {
    await queue.redis.flushdb();
    await end();
  });
  return until('the next leader has made a run', () =>
    leadersOf(candidates).find(
      (candidate) => candidate.leads() > (former.get(candidate) ?? 0) && candidate.runs() > 0,
    ),
  );
}

const leadersOf = (candidates: readonly Candidate[]): Candidate[] =>
  candidates.filter(({ loop }) => loop.isLeader());

describe('the store is repaired after', () => {
  test.each(HARMS)('%s', async (_what, harm) => {
    const { loop, betweenRuns } = newCandidate(0);
    try {
      const { id } = await commitMonitor(api);
      await checkOnce(api, id);
      await until('the wave is in the store', isRepaired);
      await betweenRuns(async () => {
        await harm(id, waveId(waveOf(id, 60)));
        expect(await isRepaired()).toBe(false);
      });
      // Another test covers how soon it runs by itself.
      loop.wake();
      await until('the store is repaired', isRepaired);
    } finally {
      await loop.stop();
      await api.database.pool.query('delete from monitors');
      await queue.redis.flushdb();
    }
  });
});

describe('leadership', () => {
  test('restores a flushed store within 15 s, however the leadership ends', () => {
    // The store is flushed right after an audit, and the leader ends right before the next one. The first run of the next leader audits.
    const untilNextAudit = AUDIT_EVERY_MS + EVERY_MS + REGION_TIMEOUT_MS;
    const untilNextLeader = TAKE_OVER_EVERY_MS;
    expect(untilNextAudit + untilNextLeader).toBeLessThanOrEqual(15_000);
  });

  test('belongs to one process; the first run of the next leader restores a flushed store', async () => {
    const candidates = [newCandidate(), newCandidate()];
    try {
      const { id: monitorId } = await commitMonitor(api);
      const id = waveId(waveOf(monitorId, 60));
      const first = await until('one process leads, and knows of an audit', async () => {
        const [leader, ...more] = leadersOf(candidates);
        return leader && more.length === 0 && (await leader.audited()) && leader;
      });
      const others = candidates.filter((candidate) => candidate !== first);
      expect(await Promise.all(others.map(({ audited }) => audited()))).toEqual([false]);
      await until('the wave is in the store', async () => (await ids('default')).includes(id));

      const killConnection = async (): Promise<void> => {
        const leads = first.leads();
        await api.database.pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where application_name = 'tocsin leader' and datname = current_database()`,
        );
        await until('the loss is noticed', () => !first.loop.isLeader() || first.leads() > leads);
      };
      const second = await nextLeader(first, killConnection, candidates);
      expect(await ids('default')).toContain(id);
      expect(leadersOf(candidates)).toEqual([second]);

      let stopped: Promise<void> | undefined;
      // Not awaited here: it waits for the current run, which waits for this function.
      const stop = (): void => void (stopped = second.loop.stop());
      const third = await nextLeader(second, stop, candidates);
      await stopped;
      expect(await ids('default')).toContain(id);
      expect(third).not.toBe(second);
      expect(leadersOf(candidates)).toEqual([third]);
    } finally {
      await Promise.all(candidates.map(({ loop }) => loop.stop()));
    }
    expect(leadersOf(candidates)).toEqual([]);
  });
});
