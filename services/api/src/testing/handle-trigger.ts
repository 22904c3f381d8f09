import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { DbContext } from '@tocsin/db/database/open';
import { recordTestResult, takeTestCheck } from '@tocsin/db/test-checks/test-checks';
import { checkOf } from '@tocsin/db/testing/check-record';
import { takeTrigger } from '@tocsin/db/triggers/triggers';

/** Returns a check result for the id of a monitor or a test. */
export type FakeResult = (id: string) => Partial<CheckRecord> | Promise<Partial<CheckRecord>>;

/** Handles a trigger or a test as a checker does, without probing anything. */
export async function handleTrigger(
  context: DbContext,
  region: string,
  triggerId: string,
  result: FakeResult = () => ({}),
): Promise<void> {
  const trigger = await takeTrigger(context.db, triggerId);
  if (trigger === null) return runTest(context, triggerId, await result(triggerId));
  const check = checkOf(trigger.monitorId, {
    slot: null,
    source: 'trigger',
    triggerId,
    region,
    urlOverride: trigger.url,
    ...(await result(trigger.monitorId)),
  });
  await recordChecks(context.db, [check]);
}

async function runTest(context: DbContext, id: string, result: Partial<CheckRecord>): Promise<void> {
  const test = await takeTestCheck(context, id);
  if (test === null) return;
  const { status, latencyMs: latency, statusCode, errorReason, errorDetail, timings } = checkOf(id, result);
  const response =
    statusCode === null ? null : { statusCode, headers: {}, body: JSON.stringify(test.request) };
  const reason = { errorReason, errorDetail, inconclusive: false };
  await recordTestResult(context, id, {
    status,
    latency,
    statusCode,
    ...reason,
    timings,
    assertions: [],
    response,
  });
}
