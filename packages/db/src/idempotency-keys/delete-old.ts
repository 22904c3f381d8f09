import { LIMITS } from '@tocsin/contracts/limits';
import { sql } from 'drizzle-orm';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import type { Database } from '../database/open.ts';

/** Deletes the keys whose answers are no longer replayed. @returns how many */
export function deleteOldIdempotencyKeys(db: Database, signal?: AbortSignal): Promise<number> {
  const isOld = sql`created_at < now() - make_interval(hours => ${LIMITS.idempotencyKeyHours})`;
  return deleteInBatches(db, 'idempotency_keys', isOld, signal);
}
