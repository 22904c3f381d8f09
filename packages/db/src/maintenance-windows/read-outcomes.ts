import { sql } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import type { Transaction } from '../database/open.ts';
import type { MaintenanceOutcome, MaintenanceWindowRow } from './table.ts';

/**
 * How the occurrence of each of these windows ended: `completed` only where all of its monitors were entered. They are in maintenance
 * still: monitors come out of it only after the window was ended.
 */
export async function readOutcomes(
  tx: Transaction,
  windowIds: readonly string[],
): Promise<(before: MaintenanceWindowRow) => MaintenanceOutcome> {
  const { rows } = await tx.execute<{ window_id: string; all_entered: boolean }>(sql`
    select a.window_id, bool_and(m.status = 'MAINTENANCE') as all_entered
    from maintenance_window_monitors a join monitors m on m.id = a.monitor_id
    where a.window_id = any(${arrayOf('uuid', windowIds)})
    group by a.window_id`);
  const entered = new Map(rows.map((row) => [row.window_id, row.all_entered]));
  return ({ id, state }) => ((entered.get(id) ?? state === 'running') ? 'completed' : 'missed');
}
