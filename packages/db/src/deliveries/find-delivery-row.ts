import { AppError } from '@tocsin/contracts/errors';
import { and, eq, isNull } from 'drizzle-orm';
import { channels } from '../channels/table.ts';
import type { Queryable } from '../database/open.ts';
import { deliveries, type DeliveryRow } from './table.ts';

/** The account's delivery with this id. @throws AppError not_found */
export async function findDeliveryRow(db: Queryable, accountId: string, id: string): Promise<DeliveryRow> {
  const [row] = await db
    .select({ delivery: deliveries })
    .from(deliveries)
    .innerJoin(channels, and(eq(channels.id, deliveries.channelId), isNull(channels.deletedAt)))
    .where(and(eq(deliveries.id, id), eq(deliveries.accountId, accountId)));
  if (!row) throw deliveryNotFound();
  return row.delivery;
}

/** An error that says the same for an unknown delivery and for another account's. */
export function deliveryNotFound(): AppError {
  return new AppError('not_found', 'There is no delivery with this id.');
}
