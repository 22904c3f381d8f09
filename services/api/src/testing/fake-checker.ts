import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { DbContext } from '@tocsin/db/database/open';
import { recordTestResult, takeTestCheck } from '@tocsin/db/test-checks/test-checks';
import { takeTrigger } from '@tocsin/db/triggers/triggers';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import type { QueueStores } from '@tocsin/queue/queue-stores';
import { checkOf } from './monitors.ts';

/** A checker that handles triggers and tests of a region without probing anything. */
export function startFakeChecker(
  stores: QueueStores,
  context: DbContext,
  region: string,
  result: (monitorId: string) => Partial<CheckRecord> | Promise<Partial<CheckRecord>> = () => ({}),
): JobWorker {
  return startJobWorker(stores.forRegion(region), {
    kind: 'trigger',
    region,
    concurrency: 5,
    process: async ({ triggerId }) => {
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
    },
    onFailed: () => undefined,
  });
}

async function runTest(context: DbContext, id: string, result: Partial<CheckRecord>): Promise<void> {
  const test = await takeTestCheck(context, id);
  if (test === null) return;
  const { status, latencyMs: latency, statusCode, errorReason, errorDetail, timings } = checkOf(id, result);
  const response =
    statusCode === null ? null : { statusCode, headers: {}, body: JSON.stringify(test.request) };
  const record = { status, latency, statusCode, errorReason, errorDetail, timings, response };
  await recordTestResult(context, id, record);
}
