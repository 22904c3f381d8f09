import type { DbContext } from '@tocsin/db/database/open';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import type { QueueStore } from '@tocsin/queue/queue-store';
import { type FakeResult, handleTrigger } from './handle-trigger.ts';

/** A checker that handles triggers and tests of a region without probing anything. */
export function startFakeChecker(
  store: QueueStore,
  context: DbContext,
  region: string,
  result?: FakeResult,
): JobWorker {
  return startJobWorker(store, {
    kind: 'trigger',
    region,
    concurrency: 5,
    process: ({ triggerId }) => handleTrigger(context, region, triggerId, result),
    onFailed: () => undefined,
  });
}
