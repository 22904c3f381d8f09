import type { DbContext } from '@tocsin/db/database/context';
import type { OpenDatabase } from '@tocsin/db/database/open';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { recordAttempt } from '@tocsin/db/deliveries/record-attempt';
import { startJobWorker, type JobWorker } from '@tocsin/queue/job-worker';
import type { QueueStores } from '@tocsin/queue/queue-stores';

/** A notifier that delivers test events, for which a request waits, without sending anything; whatever else is due stays so. */
export function startFakeNotifier(
  stores: QueueStores,
  context: DbContext,
  { pool }: OpenDatabase,
): JobWorker {
  return startJobWorker(stores.main, {
    kind: 'delivery',
    region: null,
    concurrency: 5,
    process: async ({ deliveryId }) => {
      const { rows } = await pool.query<{ test: boolean }>('select test from deliveries where id = $1', [
        deliveryId,
      ]);
      if (rows[0]?.test !== true) return;
      const [claimed] = await claimDeliveries(context, { deliveryId });
      if (claimed === undefined) return;
      const { leaseToken, channelId, url, test } = claimed;
      await recordAttempt(context.db, {
        deliveryId,
        leaseToken,
        channelId,
        url,
        test,
        startedAt: new Date(),
        durationMs: 12,
        statusCode: 204,
        error: null,
        responseExcerpt: 'thanks',
        outcome: { kind: 'delivered' },
      });
    },
    onFailed: () => undefined,
  });
}
