import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { triggers } from './table.ts';

/**
 * Takes a trigger to run it: of all who ask one gets it, and nobody after its time. By Postgres' clock, so a process whose
 * clock is off starts nothing late. Null where it was taken, is too late, or is gone.
 */
export async function takeTrigger(
  db: Database,
  id: string,
): Promise<{ monitorId: string; region: string; url: string | null } | null> {
  const [taken] = await db
    .update(triggers)
    .set({ startedAt: sql`now()` })
    .where(and(eq(triggers.id, id), isNull(triggers.startedAt), gt(triggers.notAfter, sql`now()`)))
    .returning({ monitorId: triggers.monitorId, region: triggers.region, url: triggers.url });
  return taken ?? null;
}
