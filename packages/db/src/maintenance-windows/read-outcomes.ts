import { z } from 'zod';
import type { Transaction } from '../database/open.ts';
import { arrayOf, query } from '../database/sql.ts';
import { COVERS_ALL } from './coverage.ts';
import type { MaintenanceOutcome, MaintenanceWindowRow } from './table.ts';

const enteredRow = z.object({ windowId: z.string(), allEntered: z.boolean() });

/** An occurrence is `completed` if all listed monitors and one matching monitor are still in maintenance. Others may have matched just now. */
export async function readOutcomes(
  tx: Transaction,
  windowIds: readonly string[],
): Promise<(before: MaintenanceWindowRow) => MaintenanceOutcome> {
  const rows = await query(tx, enteredRow)`
    with ended as (
      select w.id, case when ${COVERS_ALL} then w.account_id end as covered_account
      from maintenance_windows w where w.id = any(${arrayOf('uuid', windowIds)})
    ), assigned as (
      select a.window_id, bool_and(m.status = 'MAINTENANCE') filter (where a.listed) as listed_entered,
        bool_or(m.status = 'MAINTENANCE') filter (where not a.listed) as matched_entered
      from ended join maintenance_window_monitors a on a.window_id = ended.id join monitors m on m.id = a.monitor_id
      group by a.window_id
    ), covered as (
      select m.account_id, bool_or(m.status = 'MAINTENANCE') as entered
      from monitors m where m.account_id in (select covered_account from ended) group by m.account_id
    )
    select ended.id as window_id,
      coalesce(a.listed_entered, true) and coalesce(c.entered, a.matched_entered, true) as all_entered
    from ended left join assigned a on a.window_id = ended.id left join covered c on c.account_id = ended.covered_account
    where a.window_id is not null or c.account_id is not null`;
  const entered = new Map(rows.map(({ windowId, allEntered }) => [windowId, allEntered]));
  return ({ id, state }) => ((entered.get(id) ?? state === 'running') ? 'completed' : 'missed');
}
