import type { Database } from '../database/open.ts';
import { lockMonitorRow } from './find-monitor-row.ts';
import { requireVersion } from './monitor-version.ts';
import { removeMonitors } from './remove-monitors.ts';

/**
 * Deletes a monitor (specification "Delete a monitor"), however long its history is: see `removeMonitors`.
 * @param versions that the monitor must have one of, see `versionOf`; null: any
 * @throws AppError not_found, precondition_failed
 */
export async function deleteMonitor(
  db: Database,
  accountId: string,
  id: string,
  versions: ReadonlySet<string> | null = null,
): Promise<void> {
  await db.transaction(async (tx) => {
    requireVersion(await lockMonitorRow(tx, accountId, id, 'update'), versions);
    await removeMonitors(tx, [id]);
  });
}
