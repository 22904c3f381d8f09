import type { DbContext } from '@tocsin/db/database/open';
import { deliveries } from '@tocsin/db/deliveries/table';
import type { ReceivedWebhook } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';

export const webhookIdOf = ({ headers }: ReceivedWebhook): string => String(headers['webhook-id']);

/**
 * Returns each received webhook once, in the order of its first request. A notifier repeats an attempt whose response came too late, as on
 * a busy machine.
 */
export function firstArrivals(received: readonly ReceivedWebhook[]): ReceivedWebhook[] {
  const first = new Map<string, ReceivedWebhook>();
  for (const webhook of received) {
    const id = webhookIdOf(webhook);
    if (!first.has(id)) first.set(id, webhook);
  }
  return [...first.values()];
}

/** Waits until every request is logged, so that no delivery has more requests than attempts. */
export async function untilLogged(
  { db }: Pick<DbContext, 'db'>,
  received: readonly ReceivedWebhook[],
): Promise<void> {
  await until('each request to be logged as an attempt', async () => {
    const rows = await db.select({ id: deliveries.id, count: deliveries.attemptCount }).from(deliveries);
    const attempts = new Map(rows.map(({ id, count }) => [id, count]));
    for (const webhook of received) {
      const id = webhookIdOf(webhook);
      attempts.set(id, (attempts.get(id) ?? 0) - 1);
    }
    return [...attempts.values()].every((left) => left >= 0);
  });
}
