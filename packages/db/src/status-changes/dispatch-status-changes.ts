import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { arrayOf, type Backlog, backlogRow, query, queryOne } from '../database/sql.ts';
import { monitorIfDue } from './table.ts';

/** Which status changes to dispatch: those that jobs named, or due ones. */
export type DispatchScope = { readonly statusChangeIds: readonly string[] } | { readonly limit: number };

export interface DispatchedStatusChanges {
  readonly statusChanges: number;
  /** Deliveries that are due now. */
  readonly deliveryIds: string[];
  /** Of the status changes that belong to a trace. */
  readonly traceparents: string[];
}

const dueRow = z.object({ id: z.string(), traceparent: z.string().nullable() });
const madeRow = z.object({ id: z.string(), state: z.string() });

/**
 * Fans status changes out to deliveries and marks them dispatched, in one transaction. Idempotent: a status change, event kind and channel
 * make one delivery, however often this runs. The deliveries of a disabled channel are `held`.
 */
export async function dispatchStatusChanges(
  db: Database,
  scope: DispatchScope,
): Promise<DispatchedStatusChanges> {
  return db.transaction(async (tx) => {
    const due = await query(tx, dueRow)`
      select id, webhook_events -> 0 ->> 'traceparent' as traceparent from status_changes
      where ${monitorIfDue()} is not null
        ${'limit' in scope ? sql`` : sql`and id = any(${arrayOf('uuid', scope.statusChangeIds)})`}
      order by ${monitorIfDue()}, timestamp
      ${'limit' in scope ? sql`limit ${scope.limit}` : sql``}
      for update skip locked`;
    if (due.length === 0) return { statusChanges: 0, deliveryIds: [], traceparents: [] };
    const dueIds = due.map(({ id }) => id);
    const ids = arrayOf('uuid', dueIds);
    // The share lock makes a channel that is being disabled hold these too. Channels are locked in the order of their ids, as everywhere.
    const made = await query(tx, madeRow)`
      with assigned as materialized (
        select c.id, c.enabled from channels c
        where c.id in (select unnest(s.channel_ids) from status_changes s where s.id = any(${ids}))
          and c.deleted_at is null
        order by c.id for share of c)
      insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state,
        next_attempt_at)
      select gen_random_uuid(), s.account_id, a.id, s.id, s.monitor_id, e.value ->> 'event',
        ((e.value ->> 'payload')::jsonb ->> 'timestamp')::timestamptz, e.value ->> 'payload',
        case when a.enabled then 'pending' else 'held' end,
        case when a.enabled then now() end
      from status_changes s
      cross join lateral jsonb_array_elements(s.webhook_events) as e (value)
      join assigned a on a.id = any(s.channel_ids)
        and (e.value -> 'channelIds' is null or e.value -> 'channelIds' ? a.id::text)
      where s.id = any(${ids})
      on conflict (status_change_id, event, channel_id) do nothing
      returning id, state`;
    await tx.execute(sql`update status_changes set dispatched_at = now() where id = any(${ids})`);
    return {
      statusChanges: due.length,
      deliveryIds: made.filter(({ state }) => state === 'pending').map(({ id }) => id),
      traceparents: due.flatMap(({ traceparent }) => traceparent ?? []),
    };
  });
}

/** How many status changes wait for their deliveries to be made, and the age of the oldest. */
export async function outboxBacklog(db: Database): Promise<Backlog> {
  return queryOne(db, backlogRow)`
    select count(*)::int as count, extract(epoch from now() - min(created_at))::float8 as oldest_seconds
    from status_changes where ${monitorIfDue()} is not null`;
}
