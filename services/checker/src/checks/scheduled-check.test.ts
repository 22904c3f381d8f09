import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { slotOffsetMs, waveId, waveOf } from '@tocsin/core/schedule/slots';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { loadCheckTargets, readRevisions } from '@tocsin/db/monitors/check-targets';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { until } from '@tocsin/embedded/testing/until';
import { JobPostponedError, JobReturnedError } from '@tocsin/queue/job-worker';
import { createMetrics, type Metrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import { Prober, ProbeThrottledError } from '@tocsin/probe/probe';
import type { RecorderOptions } from '../record/recorder.ts';
import { loopbackEgress } from '@tocsin/probe/testing/local-targets';
import { checkContext, type ContextChanges, openCheckerDatabase, REGION } from '../testing/test-checker.ts';
import { createGate } from '../testing/test-recorder.ts';
import { monitor } from '../testing/test-region.ts';
import { CheckCapacity } from './check-capacity.ts';
import { type ScheduledCheckContext, ScheduledChecks } from './scheduled-check.ts';
import { runTriggeredCheck } from './triggered-check.ts';

const INTERVAL_MS = 60_000;
const database = await openCheckerDatabase();
const target = await HttpTarget.start();
afterAll(async () => {
  await target.stop();
  await database.close();
});

let registry: Metrics;
let checks: ScheduledChecks;
let monitorId: string;
/** The latest slot. */
let slot: number;
/** Added retries. Each has its region and the start of its check, in milliseconds after `slot`. */
let retried: [string, number][];
beforeEach(async () => {
  target.requests.clear();
  checks = scheduledChecks();
  monitorId = await database.addMonitor({ url: target.url(), timeout: 60 });
  const now = Date.now();
  slot = now - ((now - slotOffsetMs(monitorId, INTERVAL_MS)) % INTERVAL_MS);
  // The checks start a second after their slot, even on a slow machine.
  jest.spyOn(Date, 'now').mockReturnValue(slot + 1_000);
});
afterEach(() => {
  jest.restoreAllMocks();
});

function contextOf(changes: ContextChanges = {}): ScheduledCheckContext {
  registry = createMetrics();
  return checkContext(database, { metrics: createCheckerMetrics(registry), ...changes });
}

const scheduledChecks = (changes?: ContextChanges): ScheduledChecks =>
  new ScheduledChecks(contextOf(changes));

const update = (columns: string): Promise<unknown> =>
  database.query(`update monitors set ${columns} where id = '${monitorId}'`);
const moveTo = (region: string): Promise<unknown> =>
  database.query(`update monitor_regions set region = '${region}' where monitor_id = '${monitorId}'`);

/** Runs the job of a planned slot, where 0 is the latest and -1 the one before. */
function run(index: number, stalls = 0): Promise<void> {
  const jobId = `repeat:${waveId(waveOf(monitorId, 60))}:${slot + index * INTERVAL_MS}`;
  return checks.run({ monitorId, revision: 1 }, jobId, 60, stalls);
}

const runFirst = (afterMs: number): Promise<void> =>
  checks.run({ monitorId, revision: 1 }, `first-${monitorId}-${slot + afterMs}`, null);

const runRetry = (afterMs: number): Promise<void> =>
  checks.run({ monitorId, revision: 1 }, `retry-${monitorId}-${slot + afterMs}`, null);

/** Returns the values of one counter by reason, without zeros. */
async function countOf(name: 'missed' | 'skipped'): Promise<Record<string, number>> {
  const { values } = (await registry.getSingleMetric(`tocsin_checks_${name}_total`)?.get()) ?? { values: [] };
  const counted = values.filter(({ value }) => value > 0);
  return Object.fromEntries(counted.map(({ labels, value }) => [String(labels['reason']), value]));
}

function rememberSlots(...indexes: number[]): Promise<unknown> {
  const slots = indexes.map((index) => slot + index * INTERVAL_MS).join(',');
  return database.query(
    `update monitor_regions set recent_slots = '{${slots}}' where monitor_id = '${monitorId}'`,
  );
}

/** Holds results until the test releases them. */
function holdResults(): {
  readonly record: RecorderOptions['record'];
  readonly isHeld: () => boolean;
  readonly release: () => void;
} {
  const { opened, open } = createGate();
  let isHeld = false;
  const record: RecorderOptions['record'] = async (batch) => {
    isHeld = true;
    await opened;
    return recordChecks(database.db, batch);
  };
  return { record, isHeld: () => isHeld, release: open };
}

describe('missed checks', () => {
  test('slots without a job count when the next one is recorded, and skipped slots count once, by their reason', async () => {
    await rememberSlots(-9, -5);
    await run(-3);
    expect(await countOf('missed')).toEqual({ late: 1 });
    await run(0);
    expect(await countOf('missed')).toEqual({ late: 1, no_job: 3 });
    await run(1);
    expect(await countOf('missed')).toEqual({ late: 1, no_job: 3 });
  });

  test('a slot is missed if the previous check still runs, but an unneeded first check is not', async () => {
    const held = holdResults();
    checks = scheduledChecks({ record: held.record });
    const running = run(0);
    await until('the result of the first slot', held.isHeld);
    await run(1);
    await runFirst(0);
    expect(await countOf('missed')).toEqual({ overlap: 1 });
    expect(await countOf('skipped')).toEqual({ overlap: 1 });
    held.release();
    await running;
    await run(2);
    expect(await countOf('missed')).toEqual({ overlap: 1 });
  });

  test('a check whose checker died runs once more, but not a third time', async () => {
    await run(0, 1);
    expect(target.requests.get('/')).toBe(1);
    await run(1, 2);
    expect(target.requests.get('/')).toBe(1);
    expect(await countOf('missed')).toEqual({ crashed: 1 });
  });

  test('a job of a paused monitor is not missed', async () => {
    await database.query('update monitors set enabled = false');
    await run(0);
    expect([await countOf('missed'), await countOf('skipped')]).toEqual([{}, { paused: 1 }]);
    expect(target.requests.get('/')).toBeUndefined();
  });

  test('a job of a monitor in another region is not missed, and the monitor is checked once it moves to this region', async () => {
    await moveTo('eu');
    await run(-1);
    expect([await countOf('missed'), await countOf('skipped')]).toEqual([{}, { unassigned: 1 }]);
    await moveTo('default');
    await run(0);
    expect([await countOf('skipped'), target.requests.get('/')]).toEqual([{ unassigned: 1 }, 1]);
  });
});

describe('a retry', () => {
  const at = (afterMs: number): unknown => jest.spyOn(Date, 'now').mockReturnValue(slot + afterMs);

  beforeEach(async () => {
    target.status = 500;
    await update('retry_interval_seconds = 10, failure_threshold = 3');
    checks = scheduledChecks({
      retry: async (_, region, startedAt) => void retried.push([region, startedAt - slot]),
    });
    retried = [];
  });
  afterEach(() => void (target.status = 200));

  test('follows a failure below the threshold, counted from its slot, and no other result', async () => {
    await run(0);
    at(11_000);
    await runRetry(10_000);
    expect(retried).toEqual([
      ['default', 1_000],
      ['default', 11_000],
    ]);
    at(21_000);
    await runRetry(20_000);
    expect(retried).toHaveLength(2);
    expect(target.requests.get('/')).toBe(3);
  });

  test('follows again if the checker died before the queue had it', async () => {
    await run(0);
    await run(0);
    expect(retried).toHaveLength(2);
  });

  test('is skipped once the next planned check is due', async () => {
    at(INTERVAL_MS - 1);
    await runRetry(10_000);
    expect(target.requests.get('/')).toBe(1);
    at(INTERVAL_MS);
    await runRetry(20_000);
    expect(target.requests.get('/')).toBe(1);
    expect([await countOf('missed'), await countOf('skipped')]).toEqual([{}, { late: 1 }]);
  });

  test('that still runs postpones the planned check, whichever process runs it', async () => {
    const locked = new Set<string>();
    const lockedForMs: number[] = [];
    const overlapGuard: ScheduledCheckContext['overlapGuard'] = {
      acquire: async (lock) => {
        if (locked.has(lock.monitorId)) return null;
        locked.add(lock.monitorId);
        lockedForMs.push(lock.forMs);
        return async () => void locked.delete(lock.monitorId);
      },
    };
    const held = holdResults();
    checks = scheduledChecks({ record: held.record, overlapGuard });
    const running = runRetry(10_000);
    await until('the result of the retry', held.isHeld);
    await expect(run(1)).rejects.toThrow(JobPostponedError);
    const other = scheduledChecks({ overlapGuard });
    const job = `repeat:${waveId(waveOf(monitorId, 60))}:${slot}`;
    await expect(other.run({ monitorId, revision: 1 }, job, 60)).rejects.toThrow(JobPostponedError);
    // The sum of the timeout, the wait for proof of the network, and some time for the rest.
    expect(lockedForMs).toEqual([60_000 + 10_000 + 5_000]);
    held.release();
    await running;
    await run(1);
    expect(target.requests.get('/')).toBe(2);
    expect(await countOf('missed')).toEqual({});
  });

  test('hides no missed slot and invents none', async () => {
    await rememberSlots(-2);
    at(1_000 - INTERVAL_MS);
    checks = scheduledChecks();
    await run(-1);
    await runRetry(10_000 - INTERVAL_MS);
    at(1_000 + INTERVAL_MS);
    await run(1);
    expect(await countOf('missed')).toEqual({ no_job: 1 });
  });
});

describe('a monitor that cannot be read', () => {
  test('because no key decrypts its headers is not checked, which counts as missed, and its job is done', async () => {
    await update(`sealed_headers = '{"X-Token": "v1.unknown"}'`);
    await run(0);
    await run(1);
    expect(await countOf('missed')).toEqual({ unreadable: 2 });
    expect(target.requests.size).toBe(0);
  });

  test('is checked later if Postgres is unavailable', async () => {
    checks = scheduledChecks({ load: () => Promise.reject(new Error('connection terminated')) });
    await expect(run(0)).rejects.toThrow(JobPostponedError);
    expect(await countOf('missed')).toEqual({});
  });

  test.each([
    ['a wave', () => run(-9)],
    ['a single check', () => runFirst(-90_000_000)],
  ])('and whose job of %s is too late is skipped, whatever Postgres returns', async (_, runLate) => {
    checks = scheduledChecks({ load: () => Promise.reject(new Error('connection terminated')) });
    await runLate();
    const counts = { ...(await countOf('missed')), ...(await countOf('skipped')) };
    expect(counts).toEqual({ late: 1 });
  });
});

describe('a check that waits for a permit', () => {
  let isWaiting: boolean;
  let nowMs: number;
  /** Grants no permit for fast checks until the test does. */
  let capacity: CheckCapacity;
  let freePermit: () => void;
  beforeEach(async () => {
    isWaiting = false;
    nowMs = 0;
    capacity = new CheckCapacity({ concurrency: 1, isBusy: () => true, now: () => nowMs });
    capacity.onBacklog((isBehind) => (isWaiting = isBehind));
    const permit = await capacity.acquire(monitor('other', ''), 0);
    if (typeof permit === 'string') throw new Error(permit);
    freePermit = permit.release;
  });
  afterEach(() => capacity.close());

  test('is late if it gets none in time', async () => {
    checks = scheduledChecks({ capacity });
    // A moment later it would be too late.
    jest.spyOn(Date, 'now').mockReturnValue(slot + INTERVAL_MS + 14_999);
    await run(0);
    expect(await countOf('missed')).toEqual({ late: 1 });
  });

  test('waits for at most 15 minutes', async () => {
    checks = scheduledChecks({ capacity });
    await update('interval_seconds = 86400');
    const acquire = jest.spyOn(capacity, 'acquire').mockResolvedValue('late');
    await runFirst(0);
    expect(acquire.mock.calls[0]?.[1]).toBe(15 * 60_000);
  });

  test.each([
    { waitMs: 1_000, changes: true, loads: 1, path: '/' },
    { waitMs: 1_001, changes: false, loads: 1, path: '/' },
    { waitMs: 1_001, changes: true, loads: 2, path: '/new' },
  ])('reads its monitor again if it waits long and the monitor changes: %j', async (given) => {
    let loads = 0;
    checks = scheduledChecks({ capacity, load: (ids) => ((loads += 1), loadCheckTargets(database, ids)) });
    const waiting = run(0);
    await until('the check waits', () => isWaiting);
    if (given.changes) {
      await update(`url = '${target.url('/new')}', revision = revision + 1`);
    }
    nowMs += given.waitMs;
    freePermit();
    await waiting;
    expect([loads, [...target.requests.keys()]]).toEqual([given.loads, [given.path]]);
  });

  test('does not run if its monitor was deleted in the meantime', async () => {
    checks = scheduledChecks({ capacity });
    const waiting = run(0);
    await until('the check waits', () => isWaiting);
    await database.query(`delete from monitors where id = '${monitorId}'`);
    nowMs += 5_000;
    freePermit();
    await waiting;
    expect([await countOf('missed'), await countOf('skipped')]).toEqual([{}, { unassigned: 1 }]);
    expect(target.requests.size).toBe(0);
  });

  test('runs with the cached monitor while Postgres is unavailable', async () => {
    let isAway = false;
    checks = scheduledChecks({
      capacity,
      readRevisions: (ids) =>
        isAway ? Promise.reject(new Error('connection terminated')) : readRevisions(database.db, ids),
    });
    const waiting = run(0);
    await until('the check waits', () => isWaiting);
    isAway = true;
    nowMs += 5_000;
    freePermit();
    await waiting;
    expect(target.requests.get('/')).toBe(1);
  });
});

describe('a check counts as throttled', () => {
  const throttled = (): Prober => {
    const prober = new Prober({ egress: loopbackEgress() });
    jest.spyOn(prober, 'probe').mockRejectedValue(new ProbeThrottledError());
    return prober;
  };

  test('if the limit of slow checks defers it, like the next one in the meantime', async () => {
    const capacity = new CheckCapacity({ concurrency: 1, slowLimit: 0 });
    jest.spyOn(capacity, 'isSlow').mockReturnValue(true);
    checks = scheduledChecks({ capacity });
    let isWaiting = false;
    jest.spyOn(Date, 'now').mockReturnValue(slot - 3_600_000);
    const job = `repeat:${waveId(waveOf(monitorId, 60))}:${slot}`;
    const waiting = checks.run({ monitorId, revision: 1 }, job, 60, 0, () => (isWaiting = true));
    await until('the first check waits', () => isWaiting);
    await run(1);
    expect(await countOf('missed')).toEqual({ throttled: 1 });
    capacity.close();
    await expect(waiting).rejects.toThrow(JobReturnedError);
  });

  test('if other accounts need its capacity, and its target is not DOWN', async () => {
    checks = scheduledChecks({ prober: throttled() });
    await run(0);
    expect(await countOf('missed')).toEqual({ throttled: 1 });
    const rows = await database.query(`select 1 from events where monitor_id = '${monitorId}'`);
    expect(rows).toEqual([]);
  });

  test('and a triggered check counts as skipped', async () => {
    const takeTrigger = async () => ({ monitorId, region: 'default', url: null });
    const trigger = { triggerId: randomUUID() };
    await runTriggeredCheck({ ...contextOf({ prober: throttled() }), takeTrigger }, trigger);
    expect(await countOf('skipped')).toEqual({ throttled: 1 });
  });
});

test('a first check of a monitor with a long interval may be as late as that interval', async () => {
  await update('interval_seconds = 86400');
  await runFirst(-3_600_000);
  expect([await countOf('skipped'), target.requests.get('/')]).toEqual([{}, 1]);
});

test('the lag is measured from the slot to the start of a check that is not a retry', async () => {
  await run(-9);
  await run(0);
  await runRetry(0);
  const text = await registry.getSingleMetricAsString('tocsin_check_schedule_lag_seconds');
  expect(text).toContain('tocsin_check_schedule_lag_seconds_count{region="default"} 1');
  expect(text).toContain('tocsin_check_schedule_lag_seconds_sum{region="default"} 1\n');
});

test('the checks of a large wave start in several turns of the event loop', async () => {
  let started = 0;
  const begin = (): void => void (started += 1);
  const capacity = new CheckCapacity({ concurrency: 200 });
  const { signal } = new AbortController();
  const permit = { waitedMs: 0, signal, begin, probed: () => undefined, release: () => undefined };
  jest.spyOn(capacity, 'acquire').mockResolvedValue(permit);
  checks = scheduledChecks({
    capacity,
    load: async (ids) =>
      new Map(ids.map((id) => [id, monitor(id, 'http://127.0.0.1:9/', { regions: [REGION] })])),
    // The probes end as soon as they begin.
    prober: new Prober({ egress: loopbackEgress(), signal: AbortSignal.abort() }),
  });
  const ids = Array.from({ length: 120 }, (_, index) => `monitor-${index}`);
  const outcomes = Promise.allSettled(
    ids.map((id) => checks.run({ monitorId: id, revision: 1 }, `repeat:60s:0:${slot}`, 60)),
  );
  const byTurn: number[] = [];
  for (let turns = 0; turns < 100; turns += 1) {
    const before = started;
    await nextTurn();
    if (started > before) byTurn.push(started - before);
  }
  await outcomes;
  expect(byTurn).toEqual([50, 50, 20]);
  capacity.close();
});
