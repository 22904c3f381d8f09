import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitor';
import { phaseMs } from '@tocsin/core/schedule/phase';
import { waveId, waveOf } from '@tocsin/core/schedule/wave';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { ensureAccount } from '@tocsin/db/accounts/ensure-account';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { DbContext } from '@tocsin/db/database/context';
import { openDatabase } from '@tocsin/db/database/open';
import { createMonitor } from '@tocsin/db/monitors/create-monitor';
import { loadCheckTargets } from '@tocsin/db/monitors/load-check-targets';
import { UnreadableMonitorError } from '@tocsin/db/monitors/monitor-columns';
import { createEgress } from '@tocsin/egress/create-egress';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { until } from '@tocsin/embedded/testing/until';
import { JobPostponedError, JobReturnedError } from '@tocsin/queue/job-worker';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import type { Metrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import { Recorder, type RecorderOptions } from '../record/recorder.ts';
import { TargetCache, type LoadTargets } from '../targets/target-cache.ts';
import { CheckCapacity } from './check-capacity.ts';
import { ScheduledChecks } from './scheduled-check.ts';

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
/** The slot of a moment ago. */
let slot: number;
beforeEach(async () => {
  target.requests.clear();
  checks = scheduledChecks();
  const input = createMonitorSchema.parse({ name: 'Shop', url: target.url(), interval: 60, timeout: 60 });
  monitorId = (await createMonitor(context, accountId, input, 'default')).monitor.id;
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
  readonly load?: LoadTargets;
  readonly capacity?: CheckCapacity;
}

function scheduledChecks({
  record = (batch) => recordChecks(context.db, batch),
  load = (ids) => loadCheckTargets(context, ids),
  capacity = new CheckCapacity({ concurrency: 100 }),
}: Changes = {}): ScheduledChecks {
  registry = createMetrics();
  return new ScheduledChecks({
    region: 'default',
    targets: new TargetCache(load),
    capacity,
    recorder: new Recorder({
      record,
      ensurePartitions: async () => undefined,
      logger,
      onBatch: () => undefined,
    }),
    egress: createEgress({ allowCidrs: ['127.0.0.0/8'] }),
    metrics: createCheckerMetrics(registry),
    shutdown: new AbortController().signal,
    announce: () => undefined,
    tracer: null,
    overlapGuard: { enter: async () => async () => undefined },
    logger,
  });
}

/** Runs the job of a planned slot: 0 is that of a moment ago, -1 the one before. */
function run(index: number, stalls = 0): Promise<void> {
  const jobId = `repeat:${waveId(waveOf(monitorId, 60))}:${slot + index * INTERVAL_MS}`;
  return checks.run({ monitorId, revision: 1 }, jobId, 60, stalls);
}

/** What one counter of the checker says, by reason; those of nothing left out. */
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
  test('a check in its slot misses nothing', async () => {
    await rememberSlots(-2, -1);
    await run(0);
    expect(await countOf('missed')).toEqual({});
    expect(target.requests.size).toBe(1);
  });

  test('slots that never became a job count once the next one is recorded, those skipped here only as what they are', async () => {
    await rememberSlots(-9, -5);
    await run(-3);
    expect(await countOf('missed')).toEqual({ late: 1 });
    await run(0);
    expect(await countOf('missed')).toEqual({ late: 1, no_job: 3 });
    await run(1);
    expect(await countOf('missed')).toEqual({ late: 1, no_job: 3 });
  });

  test('what was skipped before an older gap explains no later one', async () => {
    await run(-7);
    await rememberSlots(-3);
    await run(0);
    expect(await countOf('missed')).toEqual({ late: 1, no_job: 2 });
  });

  test('a slot whose predecessor still runs; a first check that is not needed is none', async () => {
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

  test('a check whose checker died is run once more, and no third time', async () => {
    await run(0, 1);
    expect(target.requests.get('/')).toBe(1);
    await run(1, 2);
    expect(target.requests.get('/')).toBe(1);
    expect(await countOf('missed')).toEqual({ crashed: 1 });
  });

  test('a job of a monitor that is not of this region is none', async () => {
    await context.db.execute(`update monitor_regions set region = 'eu' where monitor_id = '${monitorId}'`);
    await run(0);
    expect([await countOf('missed'), await countOf('skipped')]).toEqual([{}, { unassigned: 1 }]);
  });
});

describe('a monitor that cannot be read', () => {
  const unreadable: LoadTargets = async (ids) =>
    new Map(ids.map((id) => [id, new UnreadableMonitorError(id, new Error('no key opens this'))]));

  test('is not checked, which counts as missed, and its job is done', async () => {
    checks = scheduledChecks({ load: unreadable });
    await run(0);
    await run(1);
    expect(await countOf('missed')).toEqual({ unreadable: 2 });
    expect(target.requests.size).toBe(0);
  });

  test('because none of our keys opens its headers is one', async () => {
    await context.db.execute(
      `update monitors set sealed_headers = '{"X-Token": "v1.unknown"}' where id = '${monitorId}'`,
    );
    await run(0);
    expect(await countOf('missed')).toEqual({ unreadable: 1 });
  });

  test('because Postgres is away is checked later', async () => {
    checks = scheduledChecks({ load: () => Promise.reject(new Error('connection terminated')) });
    await expect(run(0)).rejects.toThrow(JobPostponedError);
    expect(await countOf('missed')).toEqual({});
  });

  test.each([
    ['a wave', () => run(-9)],
    [
      'a single check',
      () => checks.run({ monitorId, revision: 1 }, `first-${monitorId}-${slot - 3_600_000}`, null),
    ],
  ])('and whose job of %s is too late is given up, whatever Postgres says', async (_, runLate) => {
    checks = scheduledChecks({ load: () => Promise.reject(new Error('connection terminated')) });
    await runLate();
    const counts = { ...(await countOf('missed')), ...(await countOf('skipped')) };
    expect(counts).toEqual({ late: 1 });
  });
});

describe('a check whose turn does not come', () => {
  test('in time counts as throttled', async () => {
    checks = scheduledChecks({ capacity: new CheckCapacity({ concurrency: 0 }) });
    // A moment before it would be too late.
    jest.spyOn(Date, 'now').mockReturnValue(slot + INTERVAL_MS + 14_999);
    await run(0);
    expect(await countOf('missed')).toEqual({ throttled: 1 });
  });

  test('before the next one is due: that one is throttled', async () => {
    let isWaiting = false;
    const capacity = new CheckCapacity({ concurrency: 0, onBacklog: () => (isWaiting = true) });
    checks = scheduledChecks({ capacity });
    // Long before it would be too late, however long the test takes.
    jest.spyOn(Date, 'now').mockReturnValue(slot - 3_600_000);
    const waiting = run(0);
    await until('the first check waits', () => isWaiting);
    await run(1);
    expect(await countOf('missed')).toEqual({ throttled: 1 });
    capacity.close();
    await expect(waiting).rejects.toThrow(JobReturnedError);
  });
});

test('the lag is that of the checks that start, from their slot', async () => {
  await run(-9);
  await run(0);
  const text = await registry.getSingleMetricAsString('tocsin_check_schedule_lag_seconds');
  expect(text).toContain('tocsin_check_schedule_lag_seconds_count{region="default"} 1');
  expect(text).toContain('tocsin_check_schedule_lag_seconds_sum{region="default"} 1\n');
});
