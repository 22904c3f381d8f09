import { sql, type SQL } from 'drizzle-orm';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import type { Database } from '../database/open.ts';

/** How long resolved incidents are kept: a year of reports, and the month they are written in. */
const INCIDENTS_KEPT = sql`interval '13 months'`;

export interface Deleted {
  readonly deliveries: number;
  readonly statusChanges: number;
  readonly incidents: number;
  readonly occurrences: number;
  readonly channels: number;
}

/**
 * Deletes, in small batches, what is finished and old: deliveries with their attempts, status changes and past maintenance
 * occurrences after `retentionDays`, resolved incidents after 13 months, and channels that were deleted, with all of theirs.
 * What still has to be sent stays, however old.
 * @param signal ends it after the batch under way; the rest goes another time
 */
export async function deleteFinished(
  db: Database,
  retentionDays: number,
  signal?: AbortSignal,
): Promise<Deleted> {
  const cutoff = sql`now() - make_interval(days => ${retentionDays})`;
  const inBatches = (table: string, condition: SQL): Promise<number> =>
    deleteInBatches(db, table, condition, signal);
  const ofDeletedChannels = await inBatches(
    'deliveries',
    sql`channel_id = any(array(select id from channels where deleted_at is not null))`,
  );
  return {
    channels: await inBatches(
      'channels',
      sql`deleted_at is not null and not exists (select from deliveries d where d.channel_id = channels.id)`,
    ),
    deliveries:
      ofDeletedChannels + (await inBatches('deliveries', sql`state <> 'pending' and created_at < ${cutoff}`)),
    statusChanges: await inBatches(
      'status_changes',
      sql`dispatched_at is not null and dispatched_at < ${cutoff}`,
    ),
    incidents: await inBatches(
      'incidents',
      sql`resolved_at is not null and resolved_at < now() - ${INCIDENTS_KEPT}`,
    ),
    occurrences: await inBatches('maintenance_occurrences', sql`ends_at < ${cutoff}`),
  };
}
