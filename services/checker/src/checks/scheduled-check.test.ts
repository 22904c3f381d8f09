import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { phaseMs, waveId, waveOf } from '@tocsin/core/schedule/slots';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { openDatabase } from '@tocsin/db/database/open';
import type { DbContext } from '@tocsin/db/database/open';
import { loadCheckTargets, readRevisions } from '@tocsin/db/monitors/check-targets';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { UnreadableMonitorError } from '@tocsin/db/monitors/monitor-codec';
import { ensureAccount } from '@tocsin/db/users/users';
import { createEgress } from '@tocsin/egress/create-egress';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { until } from '@tocsin/embedded/testing/until';
import { JobPostponedError, JobReturnedError } from '@tocsin/queue/job-worker';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import type { Metrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import { BodyBudget } from '../probe/body-budget.ts';
import { Prober } from '../probe/probe.ts';
import { Recorder, type RecorderOptions } from '../record/recorder.ts';
import { type TargetSource, TargetCache } from '../targets/target-cache.ts';
import { testNetworkProof } from '../testing/test-network-proof.ts';
import { CheckCapacity } from './check-capacity.ts';
import { type ScheduledCheckContext, ScheduledChecks } from './scheduled-check.ts';
import { runTriggeredCheck } from './triggered-check.ts';

const INTERVAL_MS = 60_000;
const logger = createSilentLogger();

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let open: ReturnType<typeof openDatabase>;
let context: DbContext;
let accountId: string;
let target: HttpTarget;
beforeAll(async () => {
  database = await createTestDatabase();
  open = openDatabase({
    url: database.url,
    poolSize: 5,
    applicationName: 'checker test',
    onIdleError: () => undefined,
  });
  context = { db: open.db, secrets: new SecretBox([randomBytes(32)]) };
  accountId = (await ensureAccount(open.db)).id;
  target = await HttpTarget.start();
});
afterAll(async () => {
  await target.stop();
  await open.close();
  await database.drop();
});

let registry: Metrics;
let checks: ScheduledChecks;
let monitorId: string;
/** The latest slot. */
let slot: number;
/** Retries that were to be added: the region, and when the check began, in milliseconds after `slot`. */
let retried: [string, number][];
beforeEach(async () => {
  target.requests.clear();
  checks = scheduledChecks();
  const input = createMonitorSchema.parse({ name: 'Shop', url: target.url(), interval: 60, timeout: 60 });
  monitorId = (await createMonitor(context, systemActor(accountId), input, 'default')).monitor.id;
  const now = Date.now();
  slot = now - ((now - phaseMs(monitorId, INTERVAL_MS)) % INTERVAL_MS);
  // The checks start a second after their slot, however long the tests take.
  jest.spyOn(Date, 'now').mockReturnValue(slot + 1_000);
});
afterEach(() => {
  jest.restoreAllMocks();
});

interface Changes {
  readonly record?: RecorderOptions['record'];
  readonly load?: TargetSource['load'];
  readonly readRevisions?: TargetSource['readRevisions'];
  readonly capacity?: CheckCapacity;
  readonly bodies?: BodyBudget;
  readonly retry?: ScheduledCheckContext['retry'];
  readonly overlapGuard?: ScheduledCheckContext['overlapGuard'];
}

function scheduledChecks(changes?: Changes): ScheduledChecks {
  return new ScheduledChecks(contextOf(changes));
}

function contextOf({
  record = (batch) => recordChecks(context.db, batch),
  load = (ids) => loadCheckTargets(context, ids),
  readRevisions: readAll = (ids) => readRevisions(context.db, ids),
  capacity = new CheckCapacity({ concurrency: 100 }),
  bodies = new BodyBudget(),
  retry = async () => undefined,
  overlapGuard = { acquire: async () => async () => undefined },
}: Changes = {}): ScheduledCheckContext {
  registry = createMetrics();
  return {
    region: 'default',
    targets: new TargetCache({ load, readRevisions: readAll }),
    capacity,
    recorder: new Recorder({
      record,
      ensurePartitions: async () => undefined,
      logger,
      onBatch: () => undefined,
    }),
    networkProof: testNetworkProof(),
    metrics: createCheckerMetrics(registry),
    prober: new Prober({ egress: createEgress({ allowCidrs: ['127.0.0.0/8'] }), bodies }),
    announce: () => undefined,
    retry,
    overlapGuard,
    logger,
  };
}

/** Runs the job of a planned slot: 0 is the latest, -1 the one before. */
function run(index: number, stalls = 0): Promise<void> {
  const jobId = `repeat:${waveId(waveOf(monitorId, 60))}:${slot + index * INTERVAL_MS}`;
  return checks.run({ monitorId, revision: 1 }, jobId, 60, stalls);
}

/** The values of one counter by reason, without zeros. */
async function countOf(name: 'missed' | 'skipped'): Promise<Record<string, number>> {
  const { values } = (await registry.getSingleMetric(`tocsin_checks_${name}_total`)?.get()) ?? { values: [] };
  const counted = values.filter(({ value }) => value > 0);
  return Object.fromEntries(counted.map(({ labels, value }) => [String(labels['reason']), value]));
}

function rememberSlots(...indexes: number[]): Promise<unknown> {
  const slots = indexes.map((index) => slot + index * INTERVAL_MS).join(',');
  return context.db.execute(
    `update monitor_regions set recent_slots = '{${slots}}' where monitor_id = '${monitorId}'`,
  );
}

describe('missed checks', () => {
  test('a check in its slot counts no missed check', async () => {
    await rememberSlots(-2, -1);
    await run(0);
    expect(await countOf('missed')).toEqual({});
    expect(target.requests.size).toBe(1);
  });

  test('slots without a job count when the next one is recorded, and skipped slots count once, by their reason', async () => {
    await rememberSlots(-9, -5);
    await run(-3);
    expect(await countOf('missed')).toEqual({ late: 1 });
    await run(0);
    expect(await countOf('missed')).toEqual({ late: 1, no_job: 3 });
    await run(1);
    expect(await countOf('missed')).toEqual({ late: 1, no_job: 3 });
  });

  test('a slot skipped before an older gap does not explain a later one', async () => {
    await run(-7);
    await rememberSlots(-3);
    await run(0);
    expect(await countOf('missed')).toEqual({ late: 1, no_job: 2 });
  });

  test('a slot whose predecessor still runs is missed, and an unneeded first check is not', async () => {
    let isHeld = false;
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    checks = scheduledChecks({
      record: async (batch) => {
        isHeld = true;
        await released;
        return recordChecks(context.db, batch);
      },
    });
    const running = run(0);
    await until('the result of the first slot', () => isHeld);
    await run(1);
    await checks.run({ monitorId, revision: 1 }, `first-${monitorId}-${slot}`, null);
    expect(await countOf('missed')).toEqual({ overlap: 1 });
    expect(await countOf('skipped')).toEqual({ overlap: 1 });
    release?.();
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

  test('a job of a monitor in another region is not missed', async () => {
    await context.db.execute(`update monitor_regions set region = 'eu' where monitor_id = '${monitorId}'`);
    await run(0);
    expect([await countOf('missed'), await countOf('skipped')]).toEqual([{}, { unassigned: 1 }]);
  });

  test('a monitor that comes to this region without a new revision is checked', async () => {
    await context.db.execute(`update monitor_regions set region = 'eu' where monitor_id = '${monitorId}'`);
    await run(-1);
    await context.db.execute(
      `update monitor_regions set region = 'default' where monitor_id = '${monitorId}'`,
    );
    await run(0);
    expect([await countOf('skipped'), target.requests.get('/')]).toEqual([{ unassigned: 1 }, 1]);
  });
});

describe('a retry', () => {
  const retryAt = (afterMs: number): string => `retry-${monitorId}-${slot + afterMs}`;
  const runRetry = (afterMs: number): Promise<void> =>
    checks.run({ monitorId, revision: 1 }, retryAt(afterMs), null);
  const at = (afterMs: number): unknown => jest.spyOn(Date, 'now').mockReturnValue(slot + afterMs);

  beforeEach(async () => {
    target.status = 500;
    await context.db.execute(
      `update monitors set retry_interval_seconds = 10, failure_threshold = 3 where id = '${monitorId}'`,
    );
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
    const held = new Set<string>();
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let isHeld = false;
    const overlapGuard: ScheduledCheckContext['overlapGuard'] = {
      acquire: async (lock) => {
        if (held.has(lock.monitorId)) return null;
        held.add(lock.monitorId);
        return async () => void held.delete(lock.monitorId);
      },
    };
    const record: RecorderOptions['record'] = async (batch) => {
      isHeld = true;
      await released;
      return recordChecks(context.db, batch);
    };
    checks = scheduledChecks({ record, overlapGuard });
    const running = runRetry(10_000);
    await until('the result of the retry', () => isHeld);
    await expect(run(1)).rejects.toThrow(JobPostponedError);
    const other = scheduledChecks({ overlapGuard });
    const job = `repeat:${waveId(waveOf(monitorId, 60))}:${slot}`;
    await expect(other.run({ monitorId, revision: 1 }, job, 60)).rejects.toThrow(JobPostponedError);
    release?.();
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

  test('has no lag', async () => {
    await runRetry(0);
    const text = await registry.getSingleMetricAsString('tocsin_check_schedule_lag_seconds');
    expect(text).not.toContain('_count{region="default"} 1');
  });
});

describe('a monitor that cannot be read', () => {
  const unreadable: TargetSource['load'] = async (ids) =>
    new Map(ids.map((id) => [id, new UnreadableMonitorError(id, new Error('no key opens this'))]));

  test('is not checked, which counts as missed, and its job is done', async () => {
    checks = scheduledChecks({ load: unreadable });
    await run(0);
    await run(1);
    expect(await countOf('missed')).toEqual({ unreadable: 2 });
    expect(target.requests.size).toBe(0);
  });

  test('is a monitor whose headers no key decrypts', async () => {
    await context.db.execute(
      `update monitors set sealed_headers = '{"X-Token": "v1.unknown"}' where id = '${monitorId}'`,
    );
    await run(0);
    expect(await countOf('missed')).toEqual({ unreadable: 1 });
  });

  test('is checked later if Postgres is unavailable', async () => {
    checks = scheduledChecks({ load: () => Promise.reject(new Error('connection terminated')) });
    await expect(run(0)).rejects.toThrow(JobPostponedError);
    expect(await countOf('missed')).toEqual({});
  });

  test.each([
    ['a wave', () => run(-9)],
    [
      'a single check',
      () => checks.run({ monitorId, revision: 1 }, `first-${monitorId}-${slot - 90_000_000}`, null),
    ],
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
  /** Has no permit for fast checks until the test grants one. */
  let capacity: CheckCapacity;
  let freePermit: () => void;
  beforeEach(async () => {
    isWaiting = false;
    nowMs = 0;
    capacity = new CheckCapacity({
      concurrency: 1,
      isBusy: () => true,
      onBacklog: (isBehind) => (isWaiting = isBehind),
      now: () => nowMs,
    });
    const other = { monitorId: 'other', accountId, url: '', intervalSeconds: 60, timeoutSeconds: 10 };
    const permit = await capacity.acquire(other, 0);
    if (typeof permit === 'string') throw new Error(permit);
    freePermit = permit.release;
  });
  afterEach(() => capacity.close());

  test('is late if it gets none in time', async () => {
    checks = scheduledChecks({ capacity });
    // A moment before it would be too late.
    jest.spyOn(Date, 'now').mockReturnValue(slot + INTERVAL_MS + 14_999);
    await run(0);
    expect(await countOf('missed')).toEqual({ late: 1 });
  });

  test('makes the next check an overlap when that is due', async () => {
    checks = scheduledChecks({ capacity });
    // Long before it would be too late, however long the test takes.
    jest.spyOn(Date, 'now').mockReturnValue(slot - 3_600_000);
    const waiting = run(0);
    await until('the first check waits', () => isWaiting);
    await run(1);
    expect(await countOf('missed')).toEqual({ overlap: 1 });
    capacity.close();
    await expect(waiting).rejects.toThrow(JobReturnedError);
  });

  test('waits for at most 15 minutes', async () => {
    checks = scheduledChecks({ capacity });
    await context.db.execute(`update monitors set interval_seconds = 86400 where id = '${monitorId}'`);
    const acquire = jest.spyOn(capacity, 'acquire').mockResolvedValue('late');
    await checks.run({ monitorId, revision: 1 }, `first-${monitorId}-${slot}`, null);
    expect(acquire.mock.calls[0]?.[1]).toBe(15 * 60_000);
  });

  test.each([
    { waitMs: 1_000, changes: true, loads: 1, path: '/' },
    { waitMs: 1_001, changes: false, loads: 1, path: '/' },
    { waitMs: 1_001, changes: true, loads: 2, path: '/new' },
  ])('reads its monitor again if it waits long and the monitor changes: %j', async (given) => {
    let loads = 0;
    checks = scheduledChecks({ capacity, load: (ids) => ((loads += 1), loadCheckTargets(context, ids)) });
    const waiting = run(0);
    await until('the check waits', () => isWaiting);
    if (given.changes) {
      await context.db.execute(
        `update monitors set url = '${target.url('/new')}', revision = revision + 1 where id = '${monitorId}'`,
      );
    }
    nowMs += given.waitMs;
    freePermit();
    await waiting;
    expect([loads, [...target.requests.keys()]]).toEqual([given.loads, [given.path]]);
  });

  test('does not run if its monitor was deleted meanwhile', async () => {
    checks = scheduledChecks({ capacity });
    const waiting = run(0);
    await until('the check waits', () => isWaiting);
    await context.db.execute(`delete from monitors where id = '${monitorId}'`);
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
        isAway ? Promise.reject(new Error('connection terminated')) : readRevisions(context.db, ids),
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
  test('if the limit of slow checks defers it, and so does the next one meanwhile', async () => {
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

  test('if the checker has no memory left for the body, and its target is not DOWN', async () => {
    checks = scheduledChecks({ bodies: new BodyBudget(1) });
    await context.db.execute(
      `update monitors set assertions = '{"bodyContains": "ok"}' where id = '${monitorId}'`,
    );
    await run(0);
    expect([await countOf('missed'), target.requests.get('/')]).toEqual([{ throttled: 1 }, 1]);
    const { rows } = await context.db.execute(`select 1 from events where monitor_id = '${monitorId}'`);
    expect(rows).toEqual([]);
  });

  test('and a triggered check counts as skipped', async () => {
    await context.db.execute(
      `update monitors set assertions = '{"bodyContains": "ok"}' where id = '${monitorId}'`,
    );
    const takeTrigger = async () => ({ monitorId, region: 'default', url: null });
    const trigger = { triggerId: randomUUID() };
    await runTriggeredCheck({ ...contextOf({ bodies: new BodyBudget(1) }), takeTrigger }, trigger);
    expect(await countOf('skipped')).toEqual({ throttled: 1 });
  });
});

test('a first check of a monitor with a long interval may be late by as much', async () => {
  await context.db.execute(`update monitors set interval_seconds = 86400 where id = '${monitorId}'`);
  await checks.run({ monitorId, revision: 1 }, `first-${monitorId}-${slot - 3_600_000}`, null);
  expect([await countOf('skipped'), target.requests.get('/')]).toEqual([{}, 1]);
});

test('the lag is measured from the slot to the start of a check', async () => {
  await run(-9);
  await run(0);
  const text = await registry.getSingleMetricAsString('tocsin_check_schedule_lag_seconds');
  expect(text).toContain('tocsin_check_schedule_lag_seconds_count{region="default"} 1');
  expect(text).toContain('tocsin_check_schedule_lag_seconds_sum{region="default"} 1\n');
});
