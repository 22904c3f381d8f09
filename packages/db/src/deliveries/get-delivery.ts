import type { DeliveryDetail } from '@tocsin/contracts/channel-delivery';
import { asc, eq } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { findDeliveryRow } from './find-delivery-row.ts';
import { attempts, type AttemptRow } from './table.ts';
import { toAttempt, toDelivery } from './to-delivery.ts';

/** A delivery with its payload and every attempt, in order. @throws AppError not_found */
export async function getDelivery(db: Database, accountId: string, id: string): Promise<DeliveryDetail> {
  const row = await findDeliveryRow(db, accountId, id);
  const made = await db
    .select()
    .from(attempts)
    .where(eq(attempts.deliveryId, id))
    .orderBy(asc(attempts.number));
  return {
    ...toDelivery(row),
    payload: row.payload,
    attempts: made.map(toNumberedAttempt),
  };
}

function toNumberedAttempt(row: AttemptRow): DeliveryDetail['attempts'][number] {
  return { number: row.number, ...toAttempt(row) };
}
