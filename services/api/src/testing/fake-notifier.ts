import type { DbContext } from '@tocsin/db/database/open';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { recordAttempt } from '@tocsin/db/deliveries/record-attempt';

/** Records an attempt for each of these deliveries that is due, without sending anything. */
export async function attempt(
  { context }: { readonly context: DbContext },
  ids: readonly string[],
  statusCode: number,
): Promise<void> {
  for (const deliveryId of ids) {
    const [claimed] = await claimDeliveries(context, { deliveryId });
    if (!claimed) continue;
    const delivered = statusCode < 300;
    await recordAttempt(context.db, {
      deliveryId,
      leaseToken: claimed.leaseToken,
      channelId: claimed.channelId,
      url: claimed.url,
      test: claimed.test,
      startedAt: new Date(),
      durationMs: 12,
      statusCode,
      error: delivered ? null : `responded with ${statusCode}`,
      responseExcerpt: 'thanks',
      outcome: { kind: delivered ? 'delivered' : 'failed' },
      attemptLimit: claimed.attemptLimit,
      nextAttemptLimit: claimed.attemptLimit,
      pauseMs: 0,
    });
  }
}
