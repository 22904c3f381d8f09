import { sql } from 'drizzle-orm';
import { lockAssignments } from '../assignments/assignments.ts';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { auditMonitor } from './monitor-codec.ts';
import { findMonitorRow, requireVersion } from './monitor-row.ts';

/**
 * Deletes a monitor, however long its history is: see `removeMonitors`.
 * @param versions the monitor must have one of these, see `versionOf`; null: any
 * @throws AppError not_found, source_not_allowed, precondition_failed
 */
export async function deleteMonitor(
  db: Database,
  actor: Actor,
  id: string,
  versions: ReadonlySet<string> | null = null,
): Promise<void> {
  const { accountId } = actor;
  await db.transaction(async (tx) => {
    await lockAssignments(tx, accountId, 'shared');
    const row = await findMonitorRow(tx, accountId, id, 'update');
    requireSource(actor, row.source);
    requireVersion(row, versions);
    await removeMonitors(tx, [id]);
    await recordAudit(tx, actor, auditMonitor(row, null));
  });
}

/**
 * Deletes monitors whose rows the transaction has locked, after the assignments (`lockAssignments`); the only place that does. `purgeDeletedMonitors` later deletes their events,
 * rollups and incidents, perhaps millions of rows. Status changes and deliveries stay: an alert that was due is still sent.
 */
export async function removeMonitors(tx: Transaction, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0) return;
  const ids = arrayOf('uuid', monitorIds);
  await tx.execute(sql`insert into deleted_monitors (monitor_id) select unnest(${ids})`);
  await tx.execute(sql`delete from monitors where id = any(${ids})`);
}
