import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { isRefusal, isTemporary } from '../database/errors.ts';
import type { Database, Transaction } from '../database/open.ts';
import {
  arrayOf,
  type Backlog,
  backlogRow,
  preferIndexes,
  query,
  queryOne,
  tableOf,
  inOneRoundTrip,
} from '../database/sql.ts';
import { renderDeliveries } from '../deliveries/render-deliveries.ts';
import { type RefusedRecord, tryAlone } from '../database/try-alone.ts';
import { accountIfDue, monitorIfDue } from './table.ts';

/** Maximum deliveries that one transaction makes. The status changes of other accounts wait until it ends. */
const MAX_DELIVERIES = 500;
/** Maximum accounts in a transaction. If more have due status changes, each transaction chooses them at random. */
const MAX_ACCOUNTS = 100;
/** Maximum deliveries that one transaction makes for a status change that is tried alone. */
const MAX_DELIVERIES_ALONE = 200;

/** Some of the due status changes, or the given ones. */
export type DispatchScope = DueStatusChanges | { readonly statusChangeIds: readonly string[] };

interface DueStatusChanges {
  /** Maximum status changes to look at. */
  readonly limit: number;
  /** Status changes to skip. Defaults to none. */
  readonly excludedIds?: readonly string[];
  /** Maximum deliveries to make. Defaults to 500. */
  readonly maxDeliveries?: number;
}

export interface DispatchedStatusChanges {
  /** Number of status changes that now have all of their deliveries. */
  readonly statusChanges: number;
  /** Number of deliveries that were made and are due now. */
  readonly dueDeliveries: number;
  /** True if deliveries were made or status changes completed, so that others may be due. */
  readonly progressed: boolean;
  /** True if due status changes wait for channels that other transactions have locked. */
  readonly blocked: boolean;
  /** Status changes that Postgres refuses even alone. */
  readonly refused: readonly RefusedStatusChange[];
  /** Trace contexts of the completed status changes. */
  readonly traceparents: string[];
}

export interface RefusedStatusChange extends RefusedRecord {
  /** True if the cause may pass, such as a timeout. It need not be in the status change. */
  readonly isTemporary: boolean;
}

export const NOTHING_DISPATCHED: DispatchedStatusChanges = {
  statusChanges: 0,
  dueDeliveries: 0,
  progressed: false,
  blocked: false,
  refused: [],
  traceparents: [],
};

const dueRow = z.object({ id: z.string(), accountId: z.string() });
type Due = z.output<typeof dueRow>;
const madeRow = z.object({ count: z.number(), due: z.number(), unrendered: z.array(z.string()) });
const completedRow = z.object({ traceparent: z.string().nullable() });

/**
 * Fans status changes out to deliveries in one transaction of a bounded size, and marks those that have all of their deliveries as
 * dispatched. Deliveries of a disabled channel are `held`. The next call continues with what is missing, even after a crash, because a status
 * change, event and channel make only one delivery. Accounts have equal shares of a transaction. If Postgres refuses it, its status changes
 * are tried alone, so that one that always fails does not stop the others.
 * @param publicUrl address of the dashboard for links in webhooks, or null
 */
export async function dispatchStatusChanges(
  db: Database,
  scope: DispatchScope,
  publicUrl: string | null = null,
): Promise<DispatchedStatusChanges> {
  if ('statusChangeIds' in scope) return dispatchAlone(db, scope.statusChangeIds, publicUrl);
  let ids: string[] = [];
  try {
    return await db.transaction(async (tx) => {
      const due = await lockDue(tx, scope);
      ids = due.map(({ id }) => id);
      return dispatchLocked(tx, due, scope.maxDeliveries ?? MAX_DELIVERIES, publicUrl);
    });
  } catch (error) {
    if (!isRefusal(error) || ids.length === 0) throw error;
    return dispatchAlone(db, ids, publicUrl);
  }
}

async function dispatchAlone(
  db: Database,
  ids: readonly string[],
  publicUrl: string | null,
): Promise<DispatchedStatusChanges> {
  const statusChanges = ids.map((id) => ({ id }));
  const { results, refused } = await tryAlone(db, statusChanges, async (tx, { id }) => {
    const due = await query(tx, dueRow)`
      select id, account_id from status_changes where id = ${id} and dispatched_at is null for update skip locked`;
    return dispatchLocked(tx, due, MAX_DELIVERIES_ALONE, publicUrl);
  });
  return {
    statusChanges: results.reduce((sum, result) => sum + result.statusChanges, 0),
    dueDeliveries: results.reduce((sum, result) => sum + result.dueDeliveries, 0),
    progressed: results.some(({ progressed }) => progressed),
    blocked: results.some(({ blocked }) => blocked),
    refused: refused.map((one) => Object.assign({ isTemporary: isTemporary(one.error) }, one)),
    traceparents: results.flatMap(({ traceparents }) => traceparents),
  };
}

/** Locks due status changes. Each account has an equal share of the deliveries, beginning with its oldest status change. */
async function lockDue(tx: Transaction, scope: DueStatusChanges): Promise<Due[]> {
  const { limit, excludedIds = [], maxDeliveries = MAX_DELIVERIES } = scope;
  const account = accountIfDue('s');
  const dueOfTurn = sql`from status_changes s
    where ${account} = t.account_id and s.id <> all(${arrayOf('uuid', excludedIds)}) order by s.timestamp`;
  const preferring = preferIndexes(tx);
  const locking = query(tx, dueRow)`
    with recursive step (account_id) as (
      (select ${account} from status_changes s where ${account} is not null order by ${account} limit 1)
      union all
      select (select ${account} from status_changes s where ${account} > step.account_id order by ${account} limit 1)
      from step where step.account_id is not null
    ), turn as materialized (
      select account_id, least(count(*) over (), ${MAX_ACCOUNTS}) as accounts
      from step where account_id is not null order by random() limit ${MAX_ACCOUNTS}
    )
    select s.id, t.account_id from turn t
    cross join lateral (select greatest(1, 2 * cardinality(s.channel_ids)) as size ${dueOfTurn} limit 1) first
    cross join lateral (select s.id ${dueOfTurn}
      limit greatest(1, least(${limit} / t.accounts, ${maxDeliveries} / t.accounts / first.size + 1))
      for update skip locked) s`;
  const [, due] = await inOneRoundTrip(preferring, locking);
  return due;
}

async function dispatchLocked(
  tx: Transaction,
  due: readonly Due[],
  maxDeliveries: number,
  publicUrl: string | null,
): Promise<DispatchedStatusChanges> {
  if (due.length === 0) return NOTHING_DISPATCHED;
  const [made, completed] = await inOneRoundTrip(
    makeDeliveries(tx, due, maxDeliveries),
    markDispatched(
      tx,
      due.map(({ id }) => id),
    ),
  );
  await renderDeliveries(tx, made.unrendered, publicUrl);
  const progressed = made.count > 0 || completed.length > 0;
  return {
    statusChanges: completed.length,
    dueDeliveries: made.due,
    progressed,
    blocked: !progressed,
    refused: [],
    traceparents: completed.flatMap(({ traceparent }) => traceparent ?? []),
  };
}

/**
 * Makes missing deliveries. Only one transaction at a time does this for a status change, because it locks the status change. The share lock
 * makes a channel that is being disabled hold these deliveries as well. A channel that another transaction has locked is left for the next
 * call, so that no account waits for the locks of another.
 */
function makeDeliveries(tx: Transaction, due: readonly Due[], maxDeliveries: number) {
  const accountIds = [...new Set(due.map(({ accountId }) => accountId))];
  const share = Math.ceil(maxDeliveries / accountIds.length);
  return queryOne(tx, madeRow)`
    with due as materialized (select * from ${tableOf('d', [...due.entries()], {
      number: ['int', ([number]) => number],
      id: ['uuid', ([, { id }]) => id],
      account_id: ['uuid', ([, { accountId }]) => accountId],
    })}),
    missing as materialized (
    select gen_random_uuid() as id, a.id as account_id, m.*
    from unnest(${arrayOf('uuid', accountIds)}) as a (id)
    cross join lateral (
      select s.id as status_change_id, s.monitor_id, e.event, e.timestamp, e.payload, c.id as channel_id, c.enabled, c.format
      from (select id from due where account_id = a.id order by number) d
      cross join lateral (select * from status_changes where id = d.id offset 0) s
      cross join lateral ${EVENTS} e
      cross join lateral (
        select c.id, c.enabled, c.format from ${MISSING} m cross join lateral (
          select id, enabled, format from channels where id = m.id and deleted_at is null for share skip locked) c) c
      limit ${share}) m),
    made as (insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state,
      next_attempt_at)
    select id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload,
      case when enabled then 'pending' else 'held' end, case when enabled then now() end
    from missing)
    select count(*)::int as count, (count(*) filter (where enabled))::int as due,
      coalesce(array_agg(id::text) filter (where format <> 'standard'), '{}') as unrendered from missing`;
}

function markDispatched(tx: Transaction, ids: readonly string[]) {
  return query(tx, completedRow)`
    update status_changes s set dispatched_at = now()
    where s.id = any(${arrayOf('uuid', ids)}) and not exists (
      select from ${EVENTS} e cross join lateral ${MISSING} m
      cross join lateral (select from channels where id = m.id and deleted_at is null offset 0) c)
    returning s.webhook_events -> 0 ->> 'traceparent' as traceparent`;
}

/** Webhook events of status change `s`, each parsed once (`offset 0`). */
const EVENTS: SQL = sql`(
  select v.value ->> 'event' as event, v.value ->> 'payload' as payload, v.value -> 'channelIds' as channel_ids,
    ((v.value ->> 'payload')::jsonb ->> 'timestamp')::timestamptz as timestamp
  from jsonb_array_elements(s.webhook_events) as v (value) offset 0)`;

/** Channels of event `e` of status change `s` that have no delivery yet. */
const MISSING: SQL = sql`(
  select unnest(case when e.channel_ids is null then s.channel_ids
    else array(select jsonb_array_elements_text(e.channel_ids))::uuid[] end) as id
  except
  select d.channel_id from deliveries d where d.status_change_id = s.id and d.event = e.event)`;

/** Counts the status changes whose deliveries are not made yet, with the age of the oldest. */
export async function outboxBacklog(db: Database): Promise<Backlog> {
  return queryOne(db, backlogRow)`
    select count(*)::int as count, extract(epoch from now() - min(created_at))::float8 as oldest_seconds
    from status_changes where ${monitorIfDue()} is not null`;
}
