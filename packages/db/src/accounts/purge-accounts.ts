import { sql } from 'drizzle-orm';
import { OPERATORS_ACCOUNT } from '../audit-log/record-audit.ts';
import { deleteInBatches } from '../database/delete-expired.ts';
import type { Database } from '../database/open.ts';
import { arrayOf, queryColumn } from '../database/sql.ts';
import { forgetResults } from '../idempotency-keys/stored-results.ts';

const MAX_BATCH_SIZE = 250;

/** Tables to empty besides monitors and channels. Other rows of an account are few, or are deleted with these. */
const TABLES = [
  'maintenance_windows',
  'incidents',
  'idempotency_keys',
  'test_checks',
  'agent_regions',
  'audit_log',
];

/**
 * Deletes the records of deleted accounts in small steps, monitors first, so that their checks end. The account row is deleted last, once its
 * channels and their deliveries are gone. The first account is never deleted, because `ensureFirstAccount` would then treat the next one as
 * the first.
 * @param signal ends the purge after the current step
 */
export async function purgeDeletedAccounts(db: Database, signal?: AbortSignal): Promise<void> {
  const ids = await queryColumn(db)`select id from accounts where deleted_at is not null order by deleted_at`;
  for (const id of ids) {
    // A request that began before the deletion may have created a channel.
    await db.execute(
      sql`update channels set deleted_at = now() where account_id = ${id} and deleted_at is null`,
    );
    await deleteMonitorsOf(db, id, signal);
    for (const table of TABLES) await deleteInBatches(db, table, sql`account_id = ${id}`, signal);
    if (signal?.aborted === true) return;
    await db.execute(sql`
      delete from accounts a where id = ${id} and not exists (select from channels c where c.account_id = a.id)
        and exists (select from accounts b where b.id <> ${OPERATORS_ACCOUNT} and (b.created_at, b.id) < (a.created_at, a.id))`);
  }
}

/** Deletes monitors without alerts. `purgeDeletedMonitors` later deletes their history. */
async function deleteMonitorsOf(db: Database, accountId: string, signal?: AbortSignal): Promise<void> {
  for (;;) {
    const found = await queryColumn(db)`
      select id from monitors where account_id = ${accountId} order by id limit ${MAX_BATCH_SIZE}`;
    const ids = arrayOf('uuid', found);
    await deleteInBatches(db, 'status_changes', sql`monitor_id = any(${ids})`, signal);
    await db.transaction(async (tx) => {
      await tx.execute(sql`select from monitors where id = any(${ids}) order by id for update`);
      await tx.execute(
        sql`insert into deleted_monitors (monitor_id) select id from monitors where id = any(${ids})`,
      );
      await forgetResults(tx, found);
      await tx.execute(sql`delete from monitors where id = any(${ids})`);
    });
    if (found.length < MAX_BATCH_SIZE || signal?.aborted === true) return;
  }
}
