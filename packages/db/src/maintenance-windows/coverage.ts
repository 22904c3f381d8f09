import { sql } from 'drizzle-orm';
import { selectsAll } from '../assignments/assignments.ts';
import type { Transaction } from '../database/open.ts';
import { arrayOf, queryColumn, tableOf } from '../database/sql.ts';

/** Condition that the occurrence of window `w` is running by its times, because the maintenance clock may be late. */
export const HAS_BEGUN = sql`(w.state <> 'ended' and w.occurrence_starts_at <= statement_timestamp()
  and w.occurrence_ends_at > statement_timestamp())`;

/** Condition that window `w` covers every monitor of its account, so that no rows list the monitors. */
export const COVERS_ALL = selectsAll('window', 'w');

/** If an account has more running windows, each monitor's own windows are read instead. */
const MAX_PROBES = 20;

/**
 * Returns which of these monitors are in a maintenance window now. Other accounts must not make this slow. Unless a window covers the whole
 * account, it looks for the monitor in each of the account's windows that have begun or, if there are many, reads the monitor's own windows.
 * `order by`, `limit` and `offset` keep the planner from reading whole tables. The statement is not prepared, because a plan for small tables
 * would outlive them.
 */
export async function readCovered(
  tx: Transaction,
  monitors: readonly { readonly id: string; readonly accountId: string }[],
): Promise<ReadonlySet<string>> {
  if (monitors.length === 0) return new Set();
  const accountIds = new Set(monitors.map(({ accountId }) => accountId));
  const ids = await queryColumn(tx)`
    with begun as materialized (
      select account.id as account_id, array(
          select w.id from maintenance_windows w where w.account_id = account.id and ${HAS_BEGUN}
          order by w.occurrence_starts_at limit ${MAX_PROBES + 1}
        ) as ids,
        exists (
          select from (
            select from maintenance_windows w where w.account_id = account.id and ${HAS_BEGUN} and ${COVERS_ALL}
            order by w.occurrence_starts_at limit 1) w
        ) as covers_all
      from unnest(${arrayOf('uuid', [...accountIds])}) as account (id)
    )
    select m.id from ${tableOf('m', monitors, {
      id: ['uuid', ({ id }) => id],
      account_id: ['uuid', ({ accountId }) => accountId],
    })}
    join begun on begun.account_id = m.account_id
    where begun.covers_all or case when cardinality(begun.ids) <= ${MAX_PROBES} then exists (
        select from unnest(begun.ids) as w (id) cross join lateral (
          select from maintenance_window_monitors a where a.window_id = w.id and a.monitor_id = m.id limit 1) a
        offset 0)
      else exists (
        select from maintenance_window_monitors a cross join lateral (
          select from maintenance_windows w where w.id = a.window_id and ${HAS_BEGUN} limit 1) w
        where a.monitor_id = m.id offset 0) end`;
  return new Set(ids);
}
