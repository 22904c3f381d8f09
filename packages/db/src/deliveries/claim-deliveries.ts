import { randomUUID } from 'node:crypto';
import { WEBHOOK_EVENTS } from '@tocsin/contracts/vocabulary';
import { FIRST_ATTEMPT_LIMIT } from '@tocsin/core/deliveries/attempt-limit';
import { MAX_PAUSE_MS } from '@tocsin/core/deliveries/retry-schedule';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { DbContext } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { arrayOf, epochMs, preferIndexes, query } from '../database/sql.ts';
import { monitorIfDue } from '../status-changes/table.ts';
import { countedTime } from './delivery-outages.ts';
import { channelIf } from './table.ts';

/** An attempt owns its delivery until its deadline, plus time to record it. */
const LEASE_SECONDS = 15;
/** Concurrent attempts to a channel beyond this number have a separate limit in each notifier. */
const USUAL_PER_CHANNEL = FIRST_ATTEMPT_LIMIT;

export interface DueScope {
  readonly limit: number;
  /** Maximum deliveries to channels whose last attempt failed. Defaults to `limit`. */
  readonly failingLimit?: number;
  /** Maximum deliveries to channels that already have ten or more concurrent attempts. Defaults to `limit`. */
  readonly excessLimit?: number;
  /** Deliveries with a successful attempt that is not recorded yet. They do not count as concurrent attempts. Defaults to none. */
  readonly endedIds?: readonly string[];
  /** Status changes whose deliveries PostgreSQL refuses, so that no delivery waits for theirs. Defaults to none. */
  readonly refusedIds?: readonly string[];
}

/** One delivery that a job named, or due deliveries. */
export type ClaimScope = { readonly deliveryId: string } | DueScope;

const claimedRow = z.object({
  id: z.string(),
  /** Time of the claim by PostgreSQL's clock. */
  claimedAt: z.number().transform((time) => new Date(time)),
  accountId: z.string(),
  channelId: z.string(),
  /** True if the last attempt to its channel failed, as this one may. */
  isChannelFailing: z.boolean(),
  /** Maximum concurrent attempts to its channel across all notifiers. */
  attemptLimit: z.number(),
  /** True if the channel reached `attemptLimit` with this attempt. */
  isLimitReached: z.boolean(),
  /** True if its channel has more than ten concurrent attempts. */
  isExcess: z.boolean(),
  monitorId: z.string(),
  event: z.enum(WEBHOOK_EVENTS),
  payload: z.string(),
  url: z.string(),
  sealedSecret: z.string(),
  sealedPreviousSecret: z.string().nullable(),
  /** A test event is attempted once. */
  test: z.boolean(),
  /** Attempts recorded before this one. */
  attemptCount: z.number(),
  /** Attempts since the last redelivery. */
  roundAttemptCount: z.number(),
  /** Time since the first attempt after the last redelivery, without outages. 0 for that attempt. */
  elapsedMs: z.number().transform((time) => Math.max(0, time)),
  /** Trace context of the check that caused it. Null without one, or if the caller did not request it. */
  traceparent: z.string().nullable(),
});

/** A delivery that only this process may attempt until its lease ends. */
export interface ClaimedDelivery extends Readonly<
  Omit<z.output<typeof claimedRow>, 'sealedSecret' | 'sealedPreviousSecret'>
> {
  readonly leaseToken: string;
  /** The channel's valid secrets that this process can decrypt, current one first. */
  readonly secrets: readonly string[];
}

/** Claims due deliveries by a conditional update, so that one of several processes wins (docs/concepts/delivery.md#fairness-between-channels). */
export async function claimDeliveries(
  { db, secrets }: DbContext,
  scope: ClaimScope,
  withTrace = false,
): Promise<ClaimedDelivery[]> {
  const leaseToken = randomUUID();
  const { refusedIds = [] } = 'deliveryId' in scope ? {} : scope;
  // All events of a status change belong to one trace.
  const traceparent = sql`(
    select s.webhook_events -> 0 ->> 'traceparent' from status_changes s where s.id = d.status_change_id)`;
  const rows = await db.transaction(async (tx) => {
    await preferIndexes(tx);
    return query(tx, claimedRow)`${PREPARE}
    with refused as materialized (select unnest(${arrayOf('uuid', refusedIds)}) as id),
    due as materialized (
      ${'deliveryId' in scope ? dueOne(scope.deliveryId) : dueByChannel(scope)}),
    locked as materialized (
      select d.* from deliveries d where d.id = any(array(select id from due)) for update skip locked),
    eligible as materialized (
      select l.id, c.account_id, c.failing_since is not null as is_channel_failing, c.attempt_limit, c.url, c.sealed_secret,
        case when c.previous_secret_expires_at > now() then c.sealed_previous_secret end as sealed_previous_secret
      from locked l cross join lateral (select * from channels where id = l.channel_id offset 0) c
      where l.state = 'pending' and ${isFree('l')} and (c.enabled or l.test) and c.deleted_at is null),
    claimed as (
      update deliveries d set
        leased_until = now() + make_interval(secs => ${LEASE_SECONDS}),
        lease_token = ${leaseToken},
        first_attempt_at = coalesce(d.first_attempt_at, now())
      where d.id = any(array(select id from eligible))
      returning d.id, d.channel_id, d.monitor_id, d.event, d.payload, d.test, d.attempt_count, d.round_attempt_count,
        d.first_attempt_at, d.status_change_id)
    select e.*, d.channel_id, d.monitor_id, d.event, d.payload, d.test, d.attempt_count, d.round_attempt_count,
      due.concurrency >= e.attempt_limit as is_limit_reached, due.concurrency > ${USUAL_PER_CHANNEL} as is_excess,
      ${epochMs(sql`now()`)} as claimed_at, ${epochMs(countedTime(sql`d.first_attempt_at`))} as elapsed_ms,
      ${withTrace ? traceparent : sql`null`} as traceparent
    from claimed d join eligible e on e.id = d.id join due on due.id = d.id`;
  });
  return rows.map(({ sealedSecret, sealedPreviousSecret, ...row }) => {
    const valid = [sealedSecret, sealedPreviousSecret].flatMap((sealed) => decryptOrNone(secrets, sealed));
    return Object.assign(row, { leaseToken, secrets: valid });
  });
}

/** Returns no secret if no key decrypts it, so that only attempts of this channel fail, and not the whole claim. */
function decryptOrNone(secrets: SecretBox, sealed: string | null): string[] {
  try {
    return sealed === null ? [] : [secrets.decrypt(sealed)];
  } catch {
    return [];
  }
}

/** Selects a delivery that a job named, if it is due. Looks it up by its id first (`offset 0`), so that the planner does not read a backlog. */
function dueOne(deliveryId: string): SQL {
  return sql`
      select d.id, r.count + 1 as concurrency
      from (select * from deliveries where id = ${deliveryId} offset 0) d join channels c on c.id = d.channel_id
      cross join lateral (
        select count(*) as count from deliveries l where ${channelIf('leased', 'l')} = c.id and l.leased_until > now()) r
      where d.state = 'pending' and ${isFree('d')} and (d.test or (
        ${takesAttempts} and r.count < case when c.failing_since is null then c.attempt_limit else 1 end
        and (d.round_attempt_count > 0 or (${isOldest('d')} and d.id = (
          select f.id from deliveries f
          where ${channelIf('unattempted', 'f')} = d.channel_id and f.monitor_id = d.monitor_id
          order by f.timestamp limit 1)))))`;
}

/**
 * Selects due deliveries, fairly between channels. The order is total, so that concurrent claims choose the same deliveries and do not
 * exceed a limit together. Everything is read with index lookups that skip the rows in between.
 * - `waiting` has the channels with a due delivery and a free place, with their running attempts and the time since the first one waits.
 * - `found` has the first of these channels, both healthy and failing, with their deliveries. PostgreSQL stops at the limit, because later
 * channels cannot come first. A channel may attempt due test events, due repetitions, and the first delivery of each monitor. It looks at
 * the monitors that have been due longest. If these are too few, it also looks at the first monitors in the index, because the backlog of
 * one monitor may hide the others.
 */
function dueByChannel({ limit, failingLimit = limit, excessLimit = limit, endedIds = [] }: DueScope): SQL {
  const unattempted = channelIf('unattempted', 'p');
  const firstOfMonitor = sql`(
            select f.id, f.next_attempt_at, f.leased_until, f.monitor_id, f.timestamp, f.channel_id from deliveries f
            where ${channelIf('unattempted', 'f')} = c.id and f.monitor_id = m.id order by f.timestamp limit 1)`;
  return sql`
    with waiting as materialized (
      select c.id, c.enabled, c.paused_until, c.attempt_limit, c.last_failed_at, c.failing_since is not null as failing,
        r.count as running,
        case when c.failing_since is null then p.next_attempt_at else greatest(p.next_attempt_at, c.last_failed_at) end as waits_since
      from ${channelsWithPending} w join channels c on c.id = w.id and c.deleted_at is null
      cross join lateral (
        select count(*) as count from deliveries l
        where ${channelIf('leased', 'l')} = c.id and l.leased_until > now() and l.id <> all(${arrayOf('uuid', endedIds)})) r
      cross join lateral (
        select p.next_attempt_at from deliveries p where ${pendingChannel} = c.id order by p.next_attempt_at, p.id limit 1) p
      where p.next_attempt_at <= now() and r.count < c.attempt_limit),
    found as materialized (
      select k.* from (values (false, ${limit}::int), (true, ${failingLimit}::int)) as kind (failing, max_channels)
      cross join lateral (
        select c.id, c.failing, c.last_failed_at, c.running, d.ids, d.due_since
        from (select * from waiting c where c.failing = kind.failing order by c.running, c.waits_since, c.id) c
        cross join lateral (
          select array_agg(d.id order by d.next_attempt_at, d.id) as ids,
            array_agg(d.next_attempt_at order by d.next_attempt_at, d.id) as due_since
          from (
            select * from (
              (select d.id, d.next_attempt_at from ${dueLongest('test', sql`c.attempt_limit * 2`)} d where ${isFree('d')})
              union all
              (select d.id, d.next_attempt_at from ${dueLongest('repeated', sql`c.attempt_limit * 2`)} d
                where ${takesAttempts} and ${isFree('d')})
              union all
              (select d.id, d.next_attempt_at from (
                with longest as materialized (
                  select h.id, h.next_attempt_at from (
                    select distinct w.monitor_id as id from ${dueLongest('pending', sql`c.attempt_limit * 2 + 30`)} w
                    where ${isFree('w')}) m
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
                where ${isFree('h')} and ${isOldest('h')} and (select count(*) from longest) < c.attempt_limit - c.running) d
                where ${takesAttempts})) d
            order by d.next_attempt_at, d.id limit c.attempt_limit - c.running) d) d
        where d.ids is not null
        order by c.running, c.waits_since, c.id limit kind.max_channels) k)
    select k.id, k.concurrency from (
      select d.id, d.concurrency, d.waits_since, d.failing,
        row_number() over (partition by d.failing order by d.concurrency, d.waits_since) as number,
        row_number() over (partition by d.concurrency > ${USUAL_PER_CHANNEL} order by d.concurrency, d.waits_since) as excess_number
      from (
        select u.id, c.failing, c.running + u.number as concurrency,
          case when c.failing then greatest(u.due_since, c.last_failed_at) else u.due_since end as waits_since
        from found c cross join lateral unnest(c.ids, c.due_since) with ordinality as u (id, due_since, number)) d) k
    where (not k.failing or k.number <= ${failingLimit}) and (k.concurrency <= ${USUAL_PER_CHANNEL} or k.excess_number <= ${excessLimit})
    order by k.concurrency, k.waits_since limit ${limit}`;
}

const pendingChannel = channelIf('pending', 'p');

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
function dueLongest(condition: 'pending' | 'repeated' | 'test', limit: SQL): SQL {
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
function isFree(name: string): SQL {
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
