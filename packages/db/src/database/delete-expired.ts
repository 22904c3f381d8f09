import { LIMITS } from '@tocsin/contracts/limits';
import { sql, type SQL } from 'drizzle-orm';
import type { Database } from './open.ts';

/** Rows that one statement deletes: it ends long before its timeout, and holds locks only briefly. */
const BATCH_SIZE = 1_000;

/**
 * Deletes the rows of a table that meet a condition, however many they are. Rows that another session has locked are left for the next
 * call.
 * @param signal ends it after the current batch; the next call continues
 * @returns how many rows were deleted
 */
export async function deleteInBatches(
  db: Database,
  table: string,
  condition: SQL,
  signal?: AbortSignal,
): Promise<number> {
  const name = sql.identifier(table);
  for (let deleted = 0; ;) {
    const { rowCount } = await db.execute(sql`
      delete from ${name} where ctid = any(array(
        select ctid from ${name} where ${condition} limit ${BATCH_SIZE} for update skip locked)) and ${condition}`);
    deleted += rowCount ?? 0;
    if ((rowCount ?? 0) < BATCH_SIZE || signal?.aborted === true) return deleted;
  }
}

/** How long resolved incidents are kept: a year of reports, and the month in which the report is written. */
const INCIDENTS_KEPT = sql`interval '13 months'`;

export interface Deleted {
  readonly deliveries: number;
  readonly statusChanges: number;
  readonly incidents: number;
  readonly occurrences: number;
  readonly channels: number;
}

/**
 * Deletes old finished records in small batches: deliveries with their attempts, status changes and past maintenance occurrences after
 * `retentionDays`, resolved incidents after 13 months, and deleted channels with their deliveries. Pending deliveries stay, however old.
 * @param signal ends it after the current batch; the next call continues
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

/** Deletes expired sessions and unfinished sign-ins, and invitations a month after they expired. */
export async function deleteExpiredSessions(
  db: Database,
  signal?: AbortSignal,
): Promise<{ sessions: number; verifications: number; invitations: number }> {
  const hasExpired = sql`expires_at < now()`;
  return {
    sessions: await deleteInBatches(db, 'sessions', hasExpired, signal),
    verifications: await deleteInBatches(db, 'verifications', hasExpired, signal),
    // Until then the page of an old link can tell that it has expired.
    invitations: await deleteInBatches(
      db,
      'invitations',
      sql`expires_at < now() - interval '30 days'`,
      signal,
    ),
  };
}

/** Deletes triggers that no request waits for any more. @returns how many */
export function deleteOldTriggers(db: Database, signal?: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'triggers', sql`created_at < now() - interval '1 hour'`, signal);
}

/** Deletes the keys whose results are no longer replayed. @returns how many */
export function deleteOldIdempotencyKeys(db: Database, signal?: AbortSignal): Promise<number> {
  const isOld = sql`created_at < now() - make_interval(hours => ${LIMITS.idempotencyKeyHours})`;
  return deleteInBatches(db, 'idempotency_keys', isOld, signal);
}
