import { eq } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { triggers } from './table.ts';

/**
 * What a trigger has come to: the stamp of its event, null while there is none yet, undefined where trigger and monitor are
 * gone.
 */
export async function findTriggerEvent(db: Database, id: string): Promise<Date | null | undefined> {
  const [row] = await db
    .select({ eventTimestamp: triggers.eventTimestamp })
    .from(triggers)
    .where(eq(triggers.id, id));
  return row?.eventTimestamp;
}
