import { LIMITS } from '@tocsin/contracts/limits';
import { sql, type SQL } from 'drizzle-orm';
import type { Database } from './open.ts';

/** Rows per statement. It ends long before its timeout and holds locks only briefly. */
const BATCH_SIZE = 1_000;

/** Deletes the rows of a table that meet a condition, except locked ones, and returns how many. @param signal stops after the current batch */
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

/** Deletes old finished records (docs/concepts/delivery.md#retention) and deleted channels with their deliveries, and returns how many. */
export async function deleteFinished(
  db: Database,
  retentionDays: number,
  signal?: AbortSignal,
): Promise<
  Record<'deliveries' | 'channels' | 'statusChanges' | 'incidents' | 'silences' | 'occurrences', number>
> {
  const cutoff = sql`now() - ${retentionDays} * interval '1 day'`;
  const remove = (table: string, condition: SQL): Promise<number> =>
    deleteInBatches(db, table, condition, signal);
  const isOfDeletedChannel = sql`channel_id = any(array(select id from channels where deleted_at is not null))`;
  const isEmpty = sql`not exists (select from deliveries d where d.channel_id = channels.id)`;
  // Reports need maintenance changes for as long as incidents.
  const isOfMaintenance = sql`(from_status = 'MAINTENANCE' or to_status = 'MAINTENANCE')`;
  // The lock prevents a new schedule of the window in the meantime.
  const isOfEndedWindow = sql`window_id = any(array(
    select w.id from maintenance_windows w
    where w.state = 'ended' and exists (
      select from maintenance_window_monitors m where m.window_id = w.id and not m.listed)
    limit 100 for no key update of w skip locked))`;
  await remove('maintenance_window_monitors', sql`${isOfEndedWindow} and not listed`);
  return {
    deliveries:
      (await remove('deliveries', isOfDeletedChannel)) +
      (await remove('deliveries', sql`state <> 'pending' and created_at < ${cutoff}`)),
    channels: await remove('channels', sql`deleted_at is not null and ${isEmpty}`),
    statusChanges:
      (await remove('status_changes', sql`dispatched_at < ${cutoff} and not ${isOfMaintenance}`)) +
      (await remove(
        'status_changes',
        sql`dispatched_at < now() - interval '13 months' and ${isOfMaintenance}`,
      )),
    incidents: await remove('incidents', sql`resolved_at < now() - interval '13 months'`),
    silences: await remove('silences', sql`ends_at < now() - interval '13 months'`),
    occurrences: await remove('maintenance_occurrences', sql`ends_at < ${cutoff}`),
  };
}

/** Deletes expired sessions and unfinished sign-ins, and invitations a month after they expired. */
export async function deleteExpiredSignIns(
  db: Database,
  signal?: AbortSignal,
): Promise<Record<'sessions' | 'verifications' | 'invitations', number>> {
  // Until then, the page of an old link can show that the link has expired.
  const isOldLink = sql`expires_at < now() - interval '30 days'`;
  return {
    sessions: await deleteInBatches(db, 'sessions', sql`expires_at < now()`, signal),
    verifications: await deleteInBatches(db, 'verifications', sql`expires_at < now()`, signal),
    invitations: await deleteInBatches(db, 'invitations', isOldLink, signal),
  };
}

/** Deletes triggers and trial checks that no request waits for any more. */
export async function deleteOldTriggers(db: Database, signal?: AbortSignal): Promise<number> {
  const isOld = sql`created_at < now() - interval '1 hour'`;
  const triggers = await deleteInBatches(db, 'triggers', isOld, signal);
  return triggers + (await deleteInBatches(db, 'test_checks', isOld, signal));
}

/** Deletes the connections of agents whose gateway is gone. */
export function deleteLostAgents(db: Database, signal?: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'agent_connections', sql`renewed_at < now() - interval '1 minute'`, signal);
}

/** Deletes keys whose results are no longer replayed. */
export function deleteOldIdempotencyKeys(db: Database, signal?: AbortSignal): Promise<number> {
  const isOld = sql`created_at < now() - make_interval(hours => ${LIMITS.idempotencyKeyHours})`;
  return deleteInBatches(db, 'idempotency_keys', isOld, signal);
}

export function deleteOldAuditEntries(db: Database, signal?: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'audit_log', sql`timestamp < now() - interval '13 months'`, signal);
}
