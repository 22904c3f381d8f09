import { sql } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import type { Transaction } from '../database/open.ts';

/**
 * Deletes monitors whose rows the transaction has locked: the only way in which a monitor is deleted. What no API can show
 * without the monitor (events, rollups and incidents, perhaps millions of rows) is deleted afterwards, by
 * `purgeDeletedMonitors`. Status changes and deliveries stay: an alert that was due is still sent.
 */
export async function removeMonitors(tx: Transaction, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0) return;
  const ids = arrayOf('uuid', monitorIds);
  await tx.execute(sql`insert into deleted_monitors (monitor_id) select unnest(${ids})`);
  await tx.execute(sql`delete from monitors where id = any(${ids})`);
}
