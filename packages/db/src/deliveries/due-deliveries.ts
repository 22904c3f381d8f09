import { FIRST_ATTEMPT_LIMIT } from '@tocsin/core/deliveries/attempt-limit';
import { MAX_PAUSE_MS } from '@tocsin/core/deliveries/retry-schedule';
import { sql, type SQL } from 'drizzle-orm';
import { arrayOf } from '../database/sql.ts';
import { monitorIfDue } from '../status-changes/table.ts';
import { channelIf } from './table.ts';

/** Monitors of channel `c` that one claim looks at in each of two orders; some may have a running attempt. */
const visited = sql`c.attempt_limit * 2 + 30`;
/** Among this many deliveries that have been due longest, at least `c.attempt_limit` have no running attempt. */
const dueOfOneKind = sql`c.attempt_limit * 2`;
/** More concurrent attempts to a channel than this have a limit of their own in each notifier, see `DueScope`. */
export const USUAL_PER_CHANNEL = FIRST_ATTEMPT_LIMIT;

/** Which due deliveries to claim. */
export interface DueScope {
  readonly limit: number;
  /** How many of them may go to channels whose last attempt failed. Default: all. */
  readonly failingLimit?: number;
  /** How many of them may exceed ten concurrent attempts of their channel. Default: all. */
  readonly extraLimit?: number;
  /** Deliveries whose attempts have succeeded, although it is not recorded yet: they do not count as concurrent attempts. Default: none. */
  readonly endedIds?: readonly string[];
  /** Status changes whose deliveries Postgres refuses: no delivery waits for theirs. Default: none. */
  readonly refusedIds?: readonly string[];
}

export function isDue(name: string): SQL {
  return sql`${sql.identifier(name)}.state = 'pending' and ${isFree(name)}`;
}

/** Its time has come, and it has no running attempt. */
function isFree(name: string): SQL {
  const row = sql.identifier(name);
  return sql`${row}.next_attempt_at <= now() and (${row}.leased_until is null or ${row}.leased_until <= now())`;
}

/** The oldest unattempted delivery of a monitor to a channel. Probing each for an earlier one would make a backlog of n cost n². */
function headOf(channelId: SQL, monitorId: SQL): SQL {
  return sql`select f.* from deliveries f
    where ${channelIf('unattempted', 'f')} = ${channelId} and f.monitor_id = ${monitorId}
    order by f.timestamp limit 1`;
}

/** No earlier status change still waits to become a delivery. A scalar: with `not exists`, the planner could join all status changes. */
function isOldest(name: string): SQL {
  const row = sql.identifier(name);
  return sql`(
    select s.id from status_changes s
    where ${monitorIfDue('s')} = ${row}.monitor_id and s.timestamp < ${row}.timestamp
      and s.id <> all(array(select id from refused)) and ${row}.channel_id = any(s.channel_ids) limit 1) is null`;
}

/** The number of running attempts to a channel `c`, as a value or as a row. */
function runningAttempts(endedIds: readonly string[] = []): SQL {
  return sql`(
    select count(*) as count from deliveries l
    where ${channelIf('leased', 'l')} = c.id and l.leased_until > now() and l.id <> all(${arrayOf('uuid', endedIds)}))`;
}

/** A pause that has ended, or is longer than any: Postgres' clock was set back. */
const isPauseOver = sql`(c.paused_until <= now() or c.paused_until > now() + make_interval(secs => ${MAX_PAUSE_MS / 1_000}))`;

/** A channel `c` that takes attempts other than test events. */
export const takesAttempts: SQL = sql`(c.enabled and (c.paused_until is null or ${isPauseOver}))`;

/** A delivery that a job named, if it is due. Looks the row up by its id first (`offset 0`): next to the other conditions, the planner could read the channel's whole backlog. */
export function dueOne(deliveryId: string): SQL {
  const byId = sql`(select * from deliveries where id = ${deliveryId} offset 0)`;
  const isHead = sql`d.id = (select h.id from (${headOf(sql`d.channel_id`, sql`d.monitor_id`)}) h)`;
  return sql`select d.id, r.count + 1 as turn from ${byId} d join channels c on c.id = d.channel_id
    cross join lateral ${runningAttempts()} r
    where ${isDue('d')} and (d.test or (
      ${takesAttempts} and (d.round_attempt_count > 0 or (${isHead} and ${isOldest('d')}))
      and r.count < case when c.failing_since is null then c.attempt_limit else 1 end))`;
}

/** The distinct values of an indexed column, in their order. Each takes one step in the index: the rows in between cost nothing. */
function distinctIds(id: SQL, condition: SQL, limit: SQL | number): SQL {
  return sql`(
    with recursive step (id, number) as (
      (select ${id}, 1 from deliveries p where ${condition} order by ${id} limit 1)
      union all
      select (select ${id} from deliveries p where ${condition} and ${id} > step.id order by ${id} limit 1), step.number + 1
      from step where step.id is not null and step.number < ${limit})
    select id from step where id is not null)`;
}

const pendingChannel = channelIf('pending', 'p');
/** Selects the channels that have pending deliveries. */
export const channelsWithPending: SQL = distinctIds(
  pendingChannel,
  sql`${pendingChannel} is not null`,
  2 ** 31 - 1,
);

/** The deliveries of channel `c` that meet a condition and have been due longest. Each takes one step in its index, as above. */
function dueLongest(condition: 'pending' | 'repeated' | 'test', limit: SQL): SQL {
  const isDueOfChannel = sql`${channelIf(condition, 'p')} = c.id and p.next_attempt_at <= now()`;
  const first = sql`p.id, p.next_attempt_at, p.monitor_id, p.leased_until`;
  return sql`(
    with recursive step (id, next_attempt_at, monitor_id, leased_until, number) as (
      (select ${first}, 1 from deliveries p where ${isDueOfChannel} order by p.next_attempt_at, p.id limit 1)
      union all
      (select n.*, step.number + 1 from step cross join lateral (
        select ${first} from deliveries p
        where ${isDueOfChannel} and (p.next_attempt_at, p.id) > (step.next_attempt_at, step.id)
        order by p.next_attempt_at, p.id limit 1) n
      where step.number < ${limit}))
    select * from step)`;
}

/** The first deliveries of monitors to channel `c`, if they may be attempted. */
function firstOf(monitorIds: SQL): SQL {
  return sql`
    select h.id, h.next_attempt_at from ${monitorIds} m cross join lateral (${headOf(sql`c.id`, sql`m.id`)}) h
    where ${isFree('h')} and ${isOldest('h')}`;
}

/**
 * The first deliveries of the monitors that have been due longest; if these are too few, also those of the first monitors in the index,
 * because the backlog of one monitor may hide the others.
 */
const firstOfMonitors = sql`(
  with longest as materialized (${firstOf(sql`(
    select distinct w.monitor_id as id from ${dueLongest('pending', visited)} w where ${isFree('w')})`)})
  select * from longest
  union
  select * from (${firstOf(distinctIds(sql`p.monitor_id`, sql`${channelIf('unattempted', 'p')} = c.id`, visited))}) d
  where (select count(*) from longest) < c.attempt_limit - c.running)`;

/** What a channel `c` with `c.running` running attempts may attempt: due test events, due repetitions, and the first delivery of each monitor. */
const dueOfChannel = sql`(
  (select d.id, d.next_attempt_at from ${dueLongest('test', dueOfOneKind)} d where ${isFree('d')})
  union all
  (select d.id, d.next_attempt_at from ${dueLongest('repeated', dueOfOneKind)} d where ${takesAttempts} and ${isFree('d')})
  union all
  (select d.id, d.next_attempt_at from ${firstOfMonitors} d where ${takesAttempts}))`;

/** The channels that have a due delivery and may have one more attempt, with the time since which the first one waits. */
function waitingChannels(endedIds: readonly string[] | undefined): SQL {
  return sql`
    select c.id, c.enabled, c.paused_until, c.attempt_limit, c.last_failed_at, c.failing_since is not null as failing, r.count as running,
      case when c.failing_since is null then p.next_attempt_at else greatest(p.next_attempt_at, c.last_failed_at) end as waits_since
    from ${channelsWithPending} w join channels c on c.id = w.id and c.deleted_at is null
    cross join lateral ${runningAttempts(endedIds)} r
    cross join lateral (
      select p.next_attempt_at from deliveries p where ${pendingChannel} = c.id order by p.next_attempt_at, p.id limit 1) p
    where p.next_attempt_at <= now() and r.count < c.attempt_limit`;
}

/**
 * Channels that may attempt something, in order, with their deliveries. Postgres stops at the limit, because later channels cannot come
 * first.
 */
function firstChannels(condition: SQL, limit: number): SQL {
  return sql`
    select c.id, c.failing, c.last_failed_at, c.running, d.ids, d.due_since
    from (select * from waiting c where ${condition} order by c.running, c.waits_since, c.id) c
    cross join lateral (
      select array_agg(d.id order by d.next_attempt_at, d.id) as ids,
        array_agg(d.next_attempt_at order by d.next_attempt_at, d.id) as due_since
      from (select * from ${dueOfChannel} d order by d.next_attempt_at, d.id limit c.attempt_limit - c.running) d) d
    where d.ids is not null
    order by c.running, c.waits_since, c.id limit ${limit}`;
}

/**
 * `turn` is the number that the attempt would have among the concurrent attempts of its channel. The order is total, so that concurrent
 * claims choose the same deliveries and do not exceed the limit together.
 */
export function dueByChannel({ limit, failingLimit = limit, extraLimit = limit, endedIds }: DueScope): SQL {
  return sql`
    with waiting as materialized (${waitingChannels(endedIds)}),
    found as materialized (
      (${firstChannels(sql`not c.failing`, limit)}) union all (${firstChannels(sql`c.failing`, failingLimit)}))
    select k.id, k.turn from (
      select d.id, d.turn, d.waits_since, d.failing,
        row_number() over (partition by d.failing order by d.turn, d.waits_since) as number,
        row_number() over (partition by d.turn > ${USUAL_PER_CHANNEL} order by d.turn, d.waits_since) as extra_number
      from (
        select u.id, c.failing, c.running + u.number as turn,
          case when c.failing then greatest(u.due_since, c.last_failed_at) else u.due_since end as waits_since
        from found c cross join lateral unnest(c.ids, c.due_since) with ordinality as u (id, due_since, number)) d) k
    where (not k.failing or k.number <= ${failingLimit}) and (k.turn <= ${USUAL_PER_CHANNEL} or k.extra_number <= ${extraLimit})
    order by k.turn, k.waits_since limit ${limit}`;
}
