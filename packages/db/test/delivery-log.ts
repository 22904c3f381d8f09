import type { Database } from '@tocsin/db/database/open';
import { type AttemptRow, attempts, deliveries, type DeliveryRow } from '@tocsin/db/deliveries/table';
import { asc, eq } from 'drizzle-orm';

/** A delivery with every attempt, in order. */
type DeliveryLog = DeliveryRow & { readonly attempts: readonly AttemptRow[] };

/** Everything about a channel's deliveries, in the order of the events' timestamps. */
export async function readDeliveryLog(db: Database, channelId: string): Promise<DeliveryLog[]> {
  const rows = await db
    .select()
    .from(deliveries)
    .leftJoin(attempts, eq(attempts.deliveryId, deliveries.id))
    .where(eq(deliveries.channelId, channelId))
    .orderBy(asc(deliveries.timestamp), asc(deliveries.id), asc(attempts.number));
  const log = new Map<string, DeliveryRow & { attempts: AttemptRow[] }>();
  for (const row of rows) {
    const entry = log.get(row.deliveries.id) ?? { ...row.deliveries, attempts: [] };
    if (row.attempts) entry.attempts.push(row.attempts);
    log.set(row.deliveries.id, entry);
  }
  return [...log.values()];
}
