import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import {
  createTestCheck,
  deleteTestCheck,
  findTestResult,
  recordTestResult,
  takeTestCheck,
  type TestResult,
} from '@tocsin/db/test-checks/test-checks';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import { Prober, ProbeThrottledError } from '@tocsin/probe/probe';
import { failingEgress, loopbackEgress } from '@tocsin/probe/testing/local-targets';
import { openCheckerDatabase } from '../testing/test-checker.ts';
import { runTrialCheck } from './trial-check.ts';

/** Time in which even a slow machine starts a check. */
const START_WITHIN_MS = 3_600_000;
let metrics: ReturnType<typeof createCheckerMetrics>;
const database = await openCheckerDatabase();
const target = await HttpTarget.start();
afterAll(async () => {
  await target.stop();
  await database.close();
});
beforeEach(() => {
  target.status = 200;
  target.requests.clear();
  metrics = createCheckerMetrics(createMetrics());
});

const requestTest = (fields: object = {}, startWithinMs = START_WITHIN_MS): Promise<string> => {
  const settings = createMonitorSchema.parse({ name: 'Test', url: target.url('/'), ...fields });
  return createTestCheck(database, database.accountId, settings, startWithinMs);
};

async function run(id: string, prober = proberOf()): ReturnType<typeof findTestResult> {
  const trialChecks = {
    take: (one: string) => takeTestCheck(database, one),
    record: (one: string, result: TestResult) => recordTestResult(database, one, result),
  };
  await runTrialCheck({ prober, metrics }, trialChecks, 'default', id);
  return findTestResult(database, id);
}

function proberOf(options: Partial<ConstructorParameters<typeof Prober>[0]> = {}): Prober {
  return new Prober({ egress: loopbackEgress(), ...options });
}

describe('a trial check with settings that are not saved', () => {
  test('probes the target and records the result, which is no event', async () => {
    const passed = { status: 'UP', statusCode: 200, inconclusive: false, response: null };
    expect(await run(await requestTest())).toMatchObject(passed);
    for (const table of ['events', 'monitors', 'monitor_regions'])
      expect(await database.query(`select from ${table}`)).toEqual([]);
  });

  test('describes which assertion failed, and has the response', async () => {
    target.status = 503;
    expect(await run(await requestTest())).toMatchObject({
      status: 'DOWN',
      statusCode: 503,
      errorReason: 'HTTP_503',
      errorDetail: expect.stringContaining('503'),
      response: { statusCode: 503 },
    });
  });

  test('reports a failure of the checker as such, and not as a failure of the target', async () => {
    const noFile = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });
    const result = await run(
      await requestTest({ url: 'http://shop.example/' }),
      proberOf({ egress: failingEgress(noFile) }),
    );
    const errorDetail = expect.stringContaining('the checker itself failed');
    expect(result).toMatchObject({ status: 'DOWN', inconclusive: true, errorDetail });
  });

  test('runs once', async () => {
    const id = await requestTest();
    await run(id);
    await run(id);
    expect(target.requests.get('/')).toBe(1);
  });

  test('does not run too late, or when nobody waits for it', async () => {
    expect(await run(await requestTest({}, -1))).toBeNull();
    const id = await requestTest();
    await deleteTestCheck(database.db, id);
    expect(await run(id)).toBeNull();
    expect(target.requests.get('/')).toBeUndefined();
  });

  test('without capacity, counts as skipped and has no result', async () => {
    const prober = proberOf({});
    jest.spyOn(prober, 'probe').mockRejectedValue(new ProbeThrottledError());
    expect(await run(await requestTest(), prober)).toBeNull();
    expect((await metrics.skipped.get()).values).toMatchObject([
      { labels: { reason: 'throttled' }, value: 1 },
    ]);
  });

  test('ends without a result when the checker shuts down', async () => {
    expect(await run(await requestTest(), proberOf({ signal: AbortSignal.abort() }))).toBeNull();
  });
});
