import type { DeliveriesQuery, Delivery } from '@tocsin/contracts/channel-delivery';
import { and, desc, eq, getTableColumns, sql, type SQL } from 'drizzle-orm';
import { unknownCursor } from '../database/cursor.ts';
import type { Database } from '../database/open.ts';
import { deliveries } from './table.ts';
import { toDelivery } from './to-delivery.ts';

const { payload: _, ...lineColumns } = getTableColumns(deliveries);

/**
 * A page of a channel's delivery log, newest first: those made before the delivery `before`, or the latest.
 * @param channelId a channel that the caller has found to be the account's
 * @throws AppError validation_failed where `before` is no delivery of the channel
 */
export async function listDeliveries(
  db: Database,
  channelId: string,
  { state, limit, before }: DeliveriesQuery,
): Promise<Delivery[]> {
  const rows = await db
    .select(lineColumns)
    .from(deliveries)
    .where(
      and(
        eq(deliveries.channelId, channelId),
        state && eq(deliveries.state, state),
        before === undefined ? undefined : await isBefore(db, channelId, before),
      ),
    )
    .orderBy(desc(deliveries.createdAt), desc(deliveries.id))
    .limit(limit);
  return rows.map(toDelivery);
}

async function isBefore(db: Database, channelId: string, id: string): Promise<SQL> {
  const [cursor] = await db
    .select({ createdAt: deliveries.createdAt })
    .from(deliveries)
    .where(and(eq(deliveries.id, id), eq(deliveries.channelId, channelId)));
  if (!cursor) throw unknownCursor('is not a delivery of this channel');
  return sql`(${deliveries.createdAt}, ${deliveries.id}) < (${cursor.createdAt.toISOString()}::timestamptz, ${id}::uuid)`;
}
