import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { Database } from '@tocsin/db/database/open';
import { takeTrigger } from '@tocsin/db/triggers/triggers';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import type { QueueStores } from '@tocsin/queue/queue-stores';
import { checkOf } from './monitors.ts';

/** A checker that handles triggers of a region without probing anything. */
export function startFakeChecker(
  stores: QueueStores,
  db: Database,
  region: string,
  result: (monitorId: string) => Partial<CheckRecord> | Promise<Partial<CheckRecord>> = () => ({}),
): JobWorker {
  return startJobWorker(stores.forRegion(region), {
    kind: 'trigger',
    region,
    concurrency: 5,
    process: async ({ triggerId }) => {
      const trigger = await takeTrigger(db, triggerId);
      if (trigger === null) return;
      const check = checkOf(trigger.monitorId, {
        slot: null,
        source: 'trigger',
        triggerId,
        region,
        urlOverride: trigger.url,
        ...(await result(trigger.monitorId)),
      });
      await recordChecks(db, [check]);
    },
    onFailed: () => undefined,
  });
}
