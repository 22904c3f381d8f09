import { LIMITS } from '@tocsin/contracts/limits';
import { lt, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { idempotencyKeys } from './table.ts';

/** Deletes the keys whose answers are replayed no more. @returns how many */
export async function deleteOldIdempotencyKeys(db: Database): Promise<number> {
  const old = sql`now() - make_interval(hours => ${LIMITS.idempotencyKeyHours})`;
  const deleted = await db.delete(idempotencyKeys).where(lt(idempotencyKeys.createdAt, old));
  return deleted.rowCount ?? 0;
}
