import { changeStatus } from '@tocsin/core/status/monitor-draft';
import { and, isNull, sql } from 'drizzle-orm';
import { lockAssignments } from '../assignments/assignments.ts';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import { requireVersion } from '../database/errors.ts';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { forgetResults } from '../idempotency-keys/stored-results.ts';
import { incidents } from '../incidents/table.ts';
import { lockMonitors } from '../status-changes/locked-monitor.ts';
import { writeStatuses } from '../status-changes/write-statuses.ts';
import { auditMonitor } from './monitor-codec.ts';
import { findMonitorRow, versionOf } from './monitor-row.ts';

const MAX_BATCH_SIZE = 500;

/** Deletes a monitor. @returns status changes whose deliveries are due @throws AppError not_found, source_not_allowed, precondition_failed */
export async function deleteMonitor(
  db: Database,
  actor: Actor,
  id: string,
  versions: ReadonlySet<string> | null = null,
): Promise<string[]> {
  const { accountId } = actor;
  return db.transaction(async (tx) => {
    await lockAssignments(tx, accountId, 'shared');
    const row = await findMonitorRow(tx, accountId, id, 'update');
    requireSource(actor, row.source);
    requireVersion('monitor', versionOf(row), versions);
    const statusChangeIds = await removeMonitors(tx, [id]);
    await recordAudit(tx, actor, auditMonitor(row, null));
    return statusChangeIds;
  });
}

/**
 * Deletes locked monitors under the lock of the assignments. `purgeDeletedMonitors` later deletes their events and rollups, which may be
 * millions. Status changes and deliveries stay, because a due alert is still sent. @returns status changes whose deliveries are due
 */
export async function removeMonitors(tx: Transaction, monitorIds: readonly string[]): Promise<string[]> {
  if (monitorIds.length === 0) return [];
  const ids = arrayOf('uuid', monitorIds);
  const statusChangeIds = await closeIncidents(tx, monitorIds);
  await tx.execute(sql`insert into deleted_monitors (monitor_id) select unnest(${ids})`);
  await forgetResults(tx, monitorIds);
  await tx.execute(sql`delete from monitors where id = any(${ids})`);
  return statusChangeIds;
}

/** Announces the end of these monitors' open incidents. Otherwise receivers would keep an alert that is never closed. */
async function closeIncidents(tx: Transaction, monitorIds: readonly string[]): Promise<string[]> {
  const { monitorId, region, cause } = incidents;
  const isOpen = and(sql`${monitorId} = any(${arrayOf('uuid', monitorIds)})`, isNull(incidents.resolvedAt));
  const open = await tx.select({ monitorId, region, cause }).from(incidents).where(isOpen).orderBy(monitorId);
  const due: string[] = [];
  for (let start = 0; start < open.length; start += MAX_BATCH_SIZE) {
    const batch = open.slice(start, start + MAX_BATCH_SIZE);
    const batchIds = batch.map(({ monitorId }) => monitorId);
    const locked = await lockMonitors(tx, batchIds);
    for (const { monitorId, region, cause } of batch) {
      const monitor = locked.get(monitorId);
      // No webhook has the status PENDING.
      if (monitor === undefined || monitor.status === 'PENDING') continue;
      const check = { region, latencyMs: 0, errorReason: cause, errorDetail: monitor.errorDetail };
      changeStatus(monitor, { to: monitor.status, announced: true, isDeletion: true, ...check });
    }
    const written = await writeStatuses(tx, locked.values());
    due.push(...[...written.values()].flatMap((change) => (change.due ? change.id : [])));
  }
  return due;
}
