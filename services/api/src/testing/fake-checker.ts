import type { DbContext } from '@tocsin/db/database/open';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import type { QueueStores } from '@tocsin/queue/queue-stores';
import { type FakeResult, handleTrigger } from './handle-trigger.ts';

/** A checker that handles triggers and tests of a region without probing anything. */
export function startFakeChecker(
  stores: QueueStores,
  context: DbContext,
  region: string,
  result?: FakeResult,
): JobWorker {
  return startJobWorker(stores.forRegion(region), {
    kind: 'trigger',
    region,
    concurrency: 5,
    process: ({ triggerId }) => handleTrigger(context, region, triggerId, result),
    onFailed: () => undefined,
  });
}
