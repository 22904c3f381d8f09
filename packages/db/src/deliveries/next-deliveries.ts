import { FIRST_ATTEMPT_LIMIT } from '@tocsin/core/deliveries/attempt-limit';
import { MAX_PAUSE_MS } from '@tocsin/core/deliveries/retry-schedule';
import { sql, type SQL } from 'drizzle-orm';
import { arrayOf } from '../database/sql.ts';
import { monitorIfDue } from '../status-changes/table.ts';
import { channelIf } from './table.ts';

/** Concurrent attempts to a channel beyond this number do not count against other channels of the account. */
const USUAL_PER_CHANNEL = FIRST_ATTEMPT_LIMIT;

export interface ClaimScope {
  /** Attempts that the caller can still start. Attempts within their account's share of `capacity` are claimed even above this limit. */
  readonly limit: number;
  /** Attempts that accounts share. A claim never exceeds this number. Defaults to `limit`. */
  readonly capacity?: number;
  /** Deliveries with a successful attempt that is not recorded yet. They do not count as concurrent attempts. Defaults to none. */
  readonly endedIds?: readonly string[];
  /** Status changes whose deliveries PostgreSQL refuses. Later deliveries do not wait for them. Defaults to none. */
  readonly refusedIds?: readonly string[];
}

/**
 * Selects due deliveries, fairly between accounts and between the channels of each. The order is total, so that concurrent claims choose the
 * same deliveries and do not exceed a limit together. Everything is read with index lookups that skip the rows in between.
 * - `busy` has the channels with running attempts or a due delivery, and `competing` their accounts.
 * - `waiting` has the channels that may start another attempt, in the order of their next ones.
 * - `found` has the first of these with their deliveries. PostgreSQL stops at the limit, because later channels cannot come first.
 */
export function nextDeliveries({ limit, capacity = limit, endedIds = [], refusedIds = [] }: ClaimScope): SQL {
  return sql`
    with refused as materialized (select unnest(${arrayOf('uuid', refusedIds)}) as id),
    busy as materialized (
      select c.id, c.account_id, c.enabled, c.paused_until, c.attempt_limit, c.last_failed_at, c.failing_since is not null as is_failing,
        r.running, p.next_attempt_at as due_at
      from ${channelsWithPending} w join channels c on c.id = w.id and c.deleted_at is null
      cross join lateral (
        select count(*)::int as running from deliveries l
        where ${channelIf('leased', 'l')} = c.id and l.leased_until > now() and l.id <> all(${arrayOf('uuid', endedIds)})) r
      cross join lateral (
        select p.next_attempt_at from deliveries p where ${pendingChannel} = c.id order by p.next_attempt_at, p.id limit 1) p
      where r.running > 0 or p.next_attempt_at <= now()),
    competing as materialized (
      select account_id, greatest(1, ${capacity}::int / count(*) over ()) as share, sum(running) as running,
        sum(case when is_failing then 0 else least(running, ${USUAL_PER_CHANNEL}) end) as usual_running
      from busy group by account_id),
    waiting as materialized (select * from ${inTurn(sql`
      select c.*, c.running + 1 as concurrency, ${waitsSince(sql`c.due_at`)} as waits_since
      from busy c where c.due_at <= now() and c.running < c.attempt_limit and ${takesAttempts}`)}),
    found as materialized (
      select c.*, d.ids, d.due_times from (select * from waiting order by turn) c
      cross join lateral ${nextOfChannel()} d
      where d.ids is not null order by c.turn
      limit greatest(${limit}::int, (select least(count(*), ${capacity}::int) from waiting where is_within_share)))
    select id, concurrency from ${inTurn(sql`
      select u.id, c.account_id, c.is_failing, c.running + u.number as concurrency, ${waitsSince(sql`u.due_at`)} as waits_since
      from found c cross join lateral unnest(c.ids, c.due_times) with ordinality as u (id, due_at, number)
      union all
      select t.id, c.account_id, false, 0, t.next_attempt_at from ${TEST_EVENTS} t join busy c on c.id = t.channel_id
      where ${isFree('t')}`)}
    where is_within_share or turn <= ${limit} order by turn limit ${capacity}`;
}

/** Returns when an attempt to channel `c` began to wait. A failing channel waits from its last failure on, so that failing channels take turns. */
function waitsSince(dueAt: SQL): SQL {
  return sql`(case when c.is_failing then greatest(${dueAt}, c.last_failed_at) else ${dueAt} end)`;
}

/**
 * Puts possible attempts in order. The account with the fewest attempts comes first, and in an account the channel with the fewest. Attempts
 * within the share of their account come before all others. Attempts to failing channels, and those beyond the tenth of a channel, do not
 * count against the other attempts of their account, so that these do not wait for receivers that hang.
 */
function inTurn(attempts: SQL): SQL {
  const order = sql`order by a.concurrency, a.waits_since, a.id`;
  return sql`(
    select p.*, row_number() over (order by not p.is_within_share, p.place, p.waits_since, p.id) as turn
    from (
      select p.*, least(p.place, p.usual_place) <= p.share as is_within_share
      from (
        select a.*, o.share, o.running + row_number() over (partition by a.account_id ${order}) as place,
          case when a.is_usual then
            o.usual_running + row_number() over (partition by a.account_id, a.is_usual ${order}) end as usual_place
        from (select *, not is_failing and concurrency <= ${USUAL_PER_CHANNEL} as is_usual from (${attempts}) a) a
        join competing o on o.account_id = a.account_id) p) p) p`;
}

/**
 * Selects the next deliveries of channel `c`, which may attempt due repetitions and the first delivery of each monitor. It looks at the
 * monitors that have been due longest. If these are too few, it also looks at the first monitors in the index, because the backlog of one
 * monitor may hide the others.
 */
function nextOfChannel(): SQL {
  const unattempted = channelIf('unattempted', 'p');
  const firstOfMonitor = sql`(
    select f.id, f.next_attempt_at, f.leased_until, f.monitor_id, f.timestamp, f.channel_id from deliveries f
    where ${channelIf('unattempted', 'f')} = c.id and f.monitor_id = m.id order by f.timestamp limit 1)`;
  return sql`(
    select array_agg(d.id order by d.next_attempt_at, d.id) as ids,
      array_agg(d.next_attempt_at order by d.next_attempt_at, d.id) as due_times
    from (
      select * from (
        (select d.id, d.next_attempt_at from ${dueLongest('repeated', sql`c.attempt_limit * 2`)} d where ${isFree('d')})
        union all
        (with longest as materialized (
          select h.id, h.next_attempt_at from (
            select distinct w.monitor_id as id from ${dueLongest('pending', sql`c.attempt_limit * 2 + 30`)} w where ${isFree('w')}) m
          cross join lateral ${firstOfMonitor} h where ${isFree('h')} and ${isOldest('h')})
        select * from longest
        union
        select h.id, h.next_attempt_at from (
          with recursive step (id, number) as (
            (select p.monitor_id, 1 from deliveries p where ${unattempted} = c.id order by p.monitor_id limit 1)
            union all
            select (
              select p.monitor_id from deliveries p
              where ${unattempted} = c.id and p.monitor_id > step.id order by p.monitor_id limit 1), step.number + 1
            from step where step.id is not null and step.number < c.attempt_limit * 2 + 30)
          select id from step where id is not null) m
        cross join lateral ${firstOfMonitor} h
        where ${isFree('h')} and ${isOldest('h')} and (select count(*) from longest) < c.attempt_limit - c.running)) d
      order by d.next_attempt_at, d.id limit c.attempt_limit - c.running) d)`;
}

const pendingChannel = channelIf('pending', 'p');

/** Selects the pending test events. They are few, because each has a request that waits for it. */
const TEST_EVENTS: SQL = sql`(select * from deliveries p where ${channelIf('test', 'p')} is not null offset 0)`;

/** Selects the channels with pending deliveries, with one index lookup per channel. */
export const channelsWithPending: SQL = sql`(
  with recursive step (id) as (
    (select ${pendingChannel} from deliveries p where ${pendingChannel} is not null order by 1 limit 1)
    union all
    select (
      select ${pendingChannel} from deliveries p where ${pendingChannel} is not null and ${pendingChannel} > step.id
      order by 1 limit 1)
    from step where step.id is not null)
  select id from step where id is not null)`;

/** Selects the deliveries of channel `c` that meet a condition and have been due longest, with one index lookup per delivery. */
function dueLongest(condition: 'pending' | 'repeated', limit: SQL): SQL {
  const isDueOfChannel = sql`${channelIf(condition, 'p')} = c.id and p.next_attempt_at <= now()`;
  const columns = sql`p.id, p.next_attempt_at, p.monitor_id, p.leased_until`;
  return sql`(
    with recursive step (id, next_attempt_at, monitor_id, leased_until, number) as (
      (select ${columns}, 1 from deliveries p where ${isDueOfChannel} order by p.next_attempt_at, p.id limit 1)
      union all
      (select n.*, step.number + 1 from step cross join lateral (
        select ${columns} from deliveries p
        where ${isDueOfChannel} and (p.next_attempt_at, p.id) > (step.next_attempt_at, step.id)
        order by p.next_attempt_at, p.id limit 1) n
      where step.number < ${limit}))
    select * from step)`;
}

/** Condition that channel `c` accepts attempts other than test events. A pause longer than the maximum means that PostgreSQL's clock was set back. */
export const takesAttempts: SQL = sql`(c.enabled and (c.paused_until is null or c.paused_until <= now()
  or c.paused_until > now() + make_interval(secs => ${MAX_PAUSE_MS / 1_000})))`;

/** Condition that a delivery is due and has no running attempt. */
export function isFree(name: string): SQL {
  const row = sql.identifier(name);
  return sql`${row}.next_attempt_at <= now() and (${row}.leased_until is null or ${row}.leased_until <= now())`;
}

/** Condition that no earlier status change waits to become a delivery. With `not exists`, the planner could join all status changes. */
function isOldest(name: string): SQL {
  const row = sql.identifier(name);
  return sql`(
    select s.id from status_changes s
    where ${monitorIfDue('s')} = ${row}.monitor_id and s.timestamp < ${row}.timestamp
      and s.id <> all(array(select id from refused)) and ${row}.channel_id = any(s.channel_ids) limit 1) is null`;
}
