import { sql } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import type { Transaction } from '../database/open.ts';

/**
 * Deletes monitors whose rows the transaction has locked, however many they are: their events and rollups, of which there may be
 * millions, are deleted afterwards (`purgeDeletedMonitors`). Status changes and deliveries stay, as with `deleteMonitor`.
 */
export async function removeMonitors(tx: Transaction, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0) return;
  const ids = arrayOf('uuid', monitorIds);
  await tx.execute(sql`insert into deleted_monitors (monitor_id) select unnest(${ids})`);
  await tx.execute(sql`delete from monitor_regions where monitor_id = any(${ids})`);
  await tx.execute(sql`delete from monitors where id = any(${ids})`);
}
