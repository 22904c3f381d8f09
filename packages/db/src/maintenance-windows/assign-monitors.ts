import { sql } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import type { Transaction } from '../database/open.ts';

/** Makes these the monitors of a window. One that was deleted meanwhile is left out. */
export async function assignMonitors(
  tx: Transaction,
  accountId: string,
  windowId: string,
  monitorIds: readonly string[],
): Promise<void> {
  const ids = arrayOf('uuid', monitorIds);
  await tx.execute(sql`
    delete from maintenance_window_monitors where window_id = ${windowId} and monitor_id <> all(${ids})`);
  await tx.execute(sql`
    insert into maintenance_window_monitors (window_id, monitor_id)
    select ${windowId}, id from monitors where account_id = ${accountId} and id = any(${ids}) order by id for key share
    on conflict do nothing`);
}
