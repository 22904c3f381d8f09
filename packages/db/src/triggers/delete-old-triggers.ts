import { sql } from 'drizzle-orm';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import type { Database } from '../database/open.ts';

/** Deletes triggers whose callers no longer wait. @returns how many */
export function deleteOldTriggers(db: Database, signal?: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'triggers', sql`created_at < now() - interval '1 hour'`, signal);
}
