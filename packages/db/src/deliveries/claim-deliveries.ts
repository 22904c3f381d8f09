import { randomUUID } from 'node:crypto';
import { WEBHOOK_EVENTS } from '@tocsin/contracts/vocabulary';
import { FIRST_ATTEMPT_LIMIT } from '@tocsin/core/deliveries/attempt-limit';
import { MAX_PAUSE_MS } from '@tocsin/core/deliveries/retry-schedule';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { DbContext } from '../database/open.ts';
import { prepared } from '../database/preparing-client.ts';
import { arrayOf, epochMs, preferIndexes, query } from '../database/sql.ts';
import { monitorIfDue } from '../status-changes/table.ts';
import { countedTime } from './delivery-outages.ts';
import { channelIf } from './table.ts';

/** An attempt owns its delivery for this long: its deadline, and time to record it. */
const LEASE_SECONDS = 15;
/** Monitors of channel `c` that one claim looks at in each of two orders; some may have a running attempt. */
const visited = sql`c.attempt_limit * 2 + 30`;
/** Among this many deliveries that have been due longest, at least `c.attempt_limit` have no running attempt. */
const dueOfOneKind = sql`c.attempt_limit * 2`;
/** More concurrent attempts to a channel than this have a limit of their own in each notifier, see `DueScope`. */
const USUAL_PER_CHANNEL = FIRST_ATTEMPT_LIMIT;

const claimedRow = z.object({
  id: z.string(),
  /** By Postgres' clock. */
  claimedAt: z.number().transform((time) => new Date(time)),
  accountId: z.string(),
  channelId: z.string(),
  /** The last attempt to its channel failed, as this one may. */
  isChannelFailing: z.boolean(),
  /** Of its channel: concurrent attempts across all notifiers. */
  attemptLimit: z.number(),
  /** Whether this attempt took the last free place under the limit. */
  isLimitReached: z.boolean(),
  /** Its channel has more concurrent attempts than every channel may have, see `DueScope`. */
  isExtra: z.boolean(),
  monitorId: z.string(),
  event: z.enum(WEBHOOK_EVENTS),
  payload: z.string(),
  url: z.string(),
  sealedSecret: z.string(),
  sealedPreviousSecret: z.string().nullable(),
  /** A test event: attempted once. */
  test: z.boolean(),
  /** Attempts recorded before this one. */
  attemptCount: z.number(),
  /** Of these, the attempts since the last redelivery. */
  roundAttemptCount: z.number(),
  /** Since the first attempt after the last redelivery, without outages; 0 for that one. */
  elapsedMs: z.number().transform((time) => Math.max(0, time)),
  /** The trace context of the check that caused it; null if there is none or the caller did not request it. */
  traceparent: z.string().nullable(),
});

/** A delivery that only this process may attempt until its lease ends. */
export interface ClaimedDelivery extends Readonly<
  Omit<z.output<typeof claimedRow>, 'sealedSecret' | 'sealedPreviousSecret'>
> {
  readonly leaseToken: string;
  /** The channel's secrets that are valid now, the current one first, without those that no key decrypts. */
  readonly secrets: readonly string[];
}

/** Which deliveries to claim: one that a job named, or those that are due. */
export type ClaimScope = { readonly deliveryId: string } | DueScope;

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

/**
 * Claims due deliveries by a conditional update, so that one of several processes wins (docs/reference/delivery.md#claims).
 * @param withTrace whether to look up the trace of each
 */
export async function claimDeliveries(
  { db, secrets }: DbContext,
  scope: ClaimScope,
  withTrace = false,
): Promise<ClaimedDelivery[]> {
  const leaseToken = randomUUID();
  const { refusedIds = [] } = 'deliveryId' in scope ? {} : scope;
  const rows = await db.transaction(async (tx) => {
    await preferIndexes(tx);
    return query(tx, claimedRow)`${prepared}
    with refused as materialized (select unnest(${arrayOf('uuid', refusedIds)}) as id),
    due as materialized (
      ${'deliveryId' in scope ? dueOne(scope.deliveryId) : dueByChannel(scope)}),
    locked as materialized (
      select d.* from deliveries d where d.id = any(array(select id from due)) for update skip locked),
    eligible as materialized (
      select l.id, c.account_id, c.failing_since is not null as is_channel_failing, c.attempt_limit, c.url, c.sealed_secret,
        case when c.previous_secret_expires_at > now() then c.sealed_previous_secret end as sealed_previous_secret
      from locked l cross join lateral (select * from channels where id = l.channel_id offset 0) c
      where ${isDue('l')} and (c.enabled or l.test) and c.deleted_at is null),
    claimed as (
      update deliveries d set
        leased_until = now() + make_interval(secs => ${LEASE_SECONDS}),
        lease_token = ${leaseToken},
        first_attempt_at = coalesce(d.first_attempt_at, now())
      where d.id = any(array(select id from eligible))
      returning d.id, d.channel_id, d.monitor_id, d.event, d.payload, d.test, d.attempt_count, d.round_attempt_count,
        d.first_attempt_at, d.status_change_id)
    select e.*, d.channel_id, d.monitor_id, d.event, d.payload, d.test, d.attempt_count, d.round_attempt_count,
      due.turn >= e.attempt_limit as is_limit_reached, due.turn > ${USUAL_PER_CHANNEL} as is_extra,
      ${epochMs(sql`now()`)} as claimed_at, ${epochMs(countedTime(sql`d.first_attempt_at`))} as elapsed_ms,
      ${withTrace ? traceparent : sql`null`} as traceparent
    from claimed d join eligible e on e.id = d.id join due on due.id = d.id`;
  });
  return rows.map(({ sealedSecret, sealedPreviousSecret, ...row }) => {
    const valid = [sealedSecret, sealedPreviousSecret].flatMap((sealed) => decryptOrNone(secrets, sealed));
    return Object.assign(row, { leaseToken, secrets: valid });
  });
}

/** A secret that no key decrypts fails the attempts of its own channel, not every delivery of the claim. */
function decryptOrNone(secrets: SecretBox, sealed: string | null): string[] {
  try {
    return sealed === null ? [] : [secrets.decrypt(sealed)];
  } catch {
    return [];
  }
}

/** All events of a status change belong to one trace. */
const traceparent = sql`(
  select s.webhook_events -> 0 ->> 'traceparent' from status_changes s where s.id = d.status_change_id)`;

function isDue(name: string): SQL {
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

/** Looks the row up by its id first (`offset 0`): next to the other conditions, the planner could read the channel's whole backlog. */
function dueOne(deliveryId: string): SQL {
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
  where (select count(*) from longest) < c.attempt_limit - r.count)`;

/** What a channel `c` with `r.count` running attempts may attempt: due test events, due repetitions, and the first delivery of each monitor. */
const dueOfChannel = sql`(
  (select d.id, d.next_attempt_at from ${dueLongest('test', dueOfOneKind)} d where ${isFree('d')})
  union all
  (select d.id, d.next_attempt_at from ${dueLongest('repeated', dueOfOneKind)} d where ${takesAttempts} and ${isFree('d')})
  union all
  (select d.id, d.next_attempt_at from ${firstOfMonitors} d where ${takesAttempts}))`;

/**
 * `turn` is the number that the attempt would have among the concurrent attempts of its channel. The order is total, so that concurrent
 * claims choose the same deliveries and do not exceed the limit together.
 */
function dueByChannel({ limit, failingLimit = limit, extraLimit = limit, endedIds }: DueScope): SQL {
  return sql`select k.id, k.turn from (
      select d.id, d.turn, d.waits_since, d.failing,
        row_number() over (partition by d.failing order by d.turn, d.waits_since) as number,
        row_number() over (partition by d.turn > ${USUAL_PER_CHANNEL} order by d.turn, d.waits_since) as extra_number
      from (
        select d.id, d.turn, c.failing_since is not null as failing,
          case when c.failing_since is null then d.next_attempt_at else greatest(d.next_attempt_at, c.last_failed_at) end
            as waits_since
        from ${channelsWithPending} w join channels c on c.id = w.id and c.deleted_at is null
          and (c.failing_since is null or ${failingLimit} > 0)
        cross join lateral ${runningAttempts(endedIds)} r
        cross join lateral (
          select d.id, d.next_attempt_at, r.count + row_number() over (order by d.next_attempt_at, d.id) as turn
          from ${dueOfChannel} d order by d.next_attempt_at, d.id limit greatest(0, c.attempt_limit - r.count)) d) d) k
    where (not k.failing or k.number <= ${failingLimit}) and (k.turn <= ${USUAL_PER_CHANNEL} or k.extra_number <= ${extraLimit})
    order by k.turn, k.waits_since limit ${limit}`;
}
