import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { type DbContext, openDatabase } from '@tocsin/db/database/open';
import {
  createTestCheck,
  deleteTestCheck,
  findTestResult,
  recordTestResult,
  takeTestCheck,
  type TestResult,
} from '@tocsin/db/test-checks/test-checks';
import { ensureAccount } from '@tocsin/db/users/users';
import { createEgress } from '@tocsin/egress/create-egress';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import { BodyBudget } from '../probe/body-budget.ts';
import { Prober } from '../probe/probe.ts';
import { runTestCheck } from './test-check.ts';

/** Never too late on a slow machine. */
const START_WITHIN_MS = 3_600_000;
const LOOPBACK = ['127.0.0.0/8'];
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let open: ReturnType<typeof openDatabase>;
let context: DbContext;
let accountId: string;
let target: HttpTarget;
let metrics: ReturnType<typeof createCheckerMetrics>;
beforeAll(async () => {
  database = await createTestDatabase();
  const url = database.url;
  open = openDatabase({ url, poolSize: 2, applicationName: 'checker test', onIdleError: () => undefined });
  context = { db: open.db, secrets: new SecretBox([randomBytes(32)]) };
  accountId = (await ensureAccount(open.db)).id;
  target = await HttpTarget.start();
});
afterAll(async () => {
  await target.stop();
  await open.close();
  await database.drop();
});
beforeEach(() => {
  target.status = 200;
  target.requests.clear();
  metrics = createCheckerMetrics(createMetrics());
});

const requestTest = (fields: object = {}, startWithinMs = START_WITHIN_MS): Promise<string> => {
  const settings = createMonitorSchema.parse({ name: 'Test', url: target.url('/'), ...fields });
  return createTestCheck(context, accountId, settings, startWithinMs);
};

async function run(id: string, prober = proberOf()): Promise<TestResult | null> {
  const testChecks = {
    take: (one: string) => takeTestCheck(context, one),
    record: (one: string, result: TestResult) => recordTestResult(context, one, result),
  };
  await runTestCheck({ prober, metrics }, testChecks, 'default', id);
  return findTestResult(context, id);
}

function proberOf(
  options: Partial<ConstructorParameters<typeof Prober>[0]> = {},
  allowCidrs: readonly string[] = LOOPBACK,
): Prober {
  return new Prober({ egress: createEgress({ allowCidrs: [...allowCidrs] }), ...options });
}

describe('a test of settings that are not saved', () => {
  test('probes the target and records the result, which is no event', async () => {
    expect(await run(await requestTest())).toMatchObject({
      status: 'UP',
      statusCode: 200,
      errorReason: null,
      response: null,
    });
    for (const table of ['events', 'monitors', 'monitor_regions'])
      expect((await open.pool.query(`select from ${table}`)).rowCount).toBe(0);
  });

  test('says in words which assertion failed, with the response', async () => {
    target.status = 503;
    expect(await run(await requestTest())).toMatchObject({
      status: 'DOWN',
      statusCode: 503,
      errorReason: 'HTTP_503',
      errorDetail: expect.stringContaining('503'),
      response: { statusCode: 503 },
    });
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
    await deleteTestCheck(context.db, id);
    expect(await run(id)).toBeNull();
    expect(target.requests.get('/')).toBeUndefined();
  });

  test('does not reach what checks may not reach', async () => {
    const result = await run(await requestTest(), proberOf({}, []));
    expect(result).toMatchObject({ status: 'DOWN', statusCode: null, response: null });
    expect(target.requests.get('/')).toBeUndefined();
  });

  test('without memory for its body, counts as skipped and has no result', async () => {
    const id = await requestTest({ assertions: { bodyContains: 'ok' } });
    expect(await run(id, proberOf({ bodies: new BodyBudget(1) }))).toBeNull();
    expect((await metrics.skipped.get()).values).toMatchObject([
      { labels: { reason: 'throttled' }, value: 1 },
    ]);
  });

  test('ends without a result when the checker shuts down', async () => {
    expect(await run(await requestTest(), proberOf({ signal: AbortSignal.abort() }))).toBeNull();
  });
});
