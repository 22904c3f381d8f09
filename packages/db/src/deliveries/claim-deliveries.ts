import { randomUUID } from 'node:crypto';
import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import { sql, type SQL } from 'drizzle-orm';
import type { DbContext } from '../database/open.ts';
import { monitorIfDue } from '../status-changes/table.ts';
import { channelIf } from './table.ts';

/** An attempt owns its delivery for this long: the deadline, and time to record (design §4 "Delivery"). */
const LEASE_SECONDS = 15;

/** Attempts that may run to one channel at a time: a receiver that hangs must not hold up the others. */
const MOST_PER_CHANNEL = 10;

/** Monitors of a channel that one claim looks at in either order; some of them may have an attempt under way. */
const MOST_VISITED = 5 * MOST_PER_CHANNEL;

/** A delivery that this process may attempt now, and nobody else until its lease ends. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly leaseToken: string;
  /** By Postgres' clock. */
  readonly claimedAt: Date;
  readonly accountId: string;
  readonly channelId: string;
  /** The last attempt to its channel failed, as this one may. */
  readonly isChannelFailing: boolean;
  readonly monitorId: string;
  readonly event: WebhookEvent;
  readonly payload: string;
  readonly url: string;
  /** The channel's secrets that are valid now, the current one first; without those that no key of ours opens. */
  readonly secrets: readonly string[];
  /** A test event: attempted once. */
  readonly test: boolean;
  /** Attempts recorded before this one. */
  readonly attemptCount: number;
  /** Of them those since the last redelivery. */
  readonly roundAttemptCount: number;
  /** Since the first attempt after the last redelivery; 0 for that one. */
  readonly elapsedMs: number;
  /** Of the trace of the check that it began with; null where there is none, or nobody asked for it. */
  readonly traceparent: string | null;
}

/** Which deliveries to claim: one that a job named, or those that are due. */
export type ClaimScope = { readonly deliveryId: string } | DueScope;

/** Those that are due. */
interface DueScope {
  readonly limit: number;
  /** Of them so many at most to channels whose last attempt failed; all where it is not given. */
  readonly failingLimit?: number;
}

type ClaimedRow = Record<string, unknown> & {
  id: string;
  claimed_at: number;
  account_id: string;
  channel_id: string;
  is_channel_failing: boolean;
  monitor_id: string;
  event: WebhookEvent;
  payload: string;
  url: string;
  sealed_secret: string;
  sealed_previous_secret: string | null;
  test: boolean;
  attempt_count: number;
  round_attempt_count: number;
  elapsed_ms: number;
  traceparent: string | null;
};

/**
 * Claims due deliveries by a conditional update, so that of several processes one wins (design §4 "Delivery"). A first
 * attempt, also of a redelivery, waits while an earlier delivery of the same monitor to the same channel, made, released or
 * still to be made, waits for its own. A test event waits for nobody, and needs no enabled channel. Of what
 * is due the first of each channel comes before the second of any. A job's delivery to a channel whose last attempt failed is
 * left to who claims what is due, which bounds the share of such channels, while another attempt runs there (ADR 5).
 * @param withTrace whether to look up the trace that each belongs to
 */
export async function claimDeliveries(
  context: DbContext,
  scope: ClaimScope,
  withTrace = false,
): Promise<ClaimedDelivery[]> {
  const leaseToken = randomUUID();
  const { rows } = await context.db.execute<ClaimedRow>(sql`
    with due as materialized (
      ${'deliveryId' in scope ? dueOne(scope.deliveryId) : dueByChannel(scope)}),
    held as materialized (
      select d.* from deliveries d where d.id = any(array(select id from due)) for update skip locked)
    update deliveries d set
      leased_until = now() + make_interval(secs => ${LEASE_SECONDS}),
      lease_token = ${leaseToken},
      first_attempt_at = coalesce(d.first_attempt_at, now())
    from held h, channels c
    where d.id = h.id and ${isDue('h')} and c.id = d.channel_id and (c.enabled or d.test) and c.deleted_at is null
    returning d.id, c.account_id, (extract(epoch from now()) * 1000)::float8 as claimed_at, d.channel_id, d.monitor_id, d.event, d.payload, d.test, d.attempt_count, d.round_attempt_count,
      c.failing_since is not null as is_channel_failing, c.url, c.sealed_secret,
      case when c.previous_secret_expires_at > now() then c.sealed_previous_secret end as sealed_previous_secret,
      (extract(epoch from now() - d.first_attempt_at) * 1000)::float8 as elapsed_ms,
      ${withTrace ? traceparent : sql`null`} as traceparent`);
  return rows.map((row) => ({
    id: row.id,
    leaseToken,
    claimedAt: new Date(row.claimed_at),
    accountId: row.account_id,
    channelId: row.channel_id,
    isChannelFailing: row.is_channel_failing,
    monitorId: row.monitor_id,
    event: row.event,
    payload: row.payload,
    url: row.url,
    secrets: openSecrets(context, [row.sealed_secret, row.sealed_previous_secret]),
    test: row.test,
    attemptCount: row.attempt_count,
    roundAttemptCount: row.round_attempt_count,
    elapsedMs: Math.max(0, row.elapsed_ms),
    traceparent: row.traceparent,
  }));
}

/** All events of a status change are of one trace. */
const traceparent = sql`(
  select s.webhook_events -> 0 ->> 'traceparent' from status_changes s where s.id = d.status_change_id)`;

/** A secret that cannot be opened fails the attempts of its own channel, not all that were claimed together. */
function openSecrets(context: DbContext, sealed: readonly (string | null)[]): string[] {
  return sealed.flatMap((text) => {
    try {
      return text === null ? [] : [context.secrets.decrypt(text)];
    } catch {
      return [];
    }
  });
}

function isDue(name: string): SQL {
  const row = sql.identifier(name);
  return sql`${row}.state = 'pending' and ${isFree(name)}`;
}

/** Its time has come, and no attempt is under way. */
function isFree(name: string): SQL {
  const row = sql.identifier(name);
  return sql`${row}.next_attempt_at <= now() and (${row}.leased_until is null or ${row}.leased_until <= now())`;
}

/**
 * The delivery of a monitor to a channel that goes first. Found by one step in an index: probing each delivery for an earlier one
 * would make a backlog of n cost n².
 */
function headOf(channelId: SQL, monitorId: SQL): SQL {
  return sql`select f.* from deliveries f
    where ${channelIf('unattempted', 'f')} = ${channelId} and f.monitor_id = ${monitorId}
    order by f.timestamp limit 1`;
}

/** No earlier delivery is still to be made. A value, since the planner could join all status changes for a `not exists`. */
function isOldest(name: string): SQL {
  const row = sql.identifier(name);
  return sql`(
    select s.id from status_changes s
    where ${monitorIfDue('s')} = ${row}.monitor_id and s.timestamp < ${row}.timestamp
      and ${row}.channel_id = any(s.channel_ids) limit 1) is null`;
}

/** How many attempts run to a channel `c`: a value, or a row of one. */
const runningAttempts = sql`(
  select count(*) as count from deliveries l where ${channelIf('leased', 'l')} = c.id and l.leased_until > now())`;

/**
 * The row is looked up by its id in a query of its own (`offset 0`): next to the other conditions, the planner could read the whole
 * backlog of the channel in `deliveries_due_idx`.
 */
function dueOne(deliveryId: string): SQL {
  const byId = sql`(select * from deliveries where id = ${deliveryId} offset 0)`;
  const isHead = sql`d.id = (select h.id from (${headOf(sql`d.channel_id`, sql`d.monitor_id`)}) h)`;
  return sql`select d.id from ${byId} d join channels c on c.id = d.channel_id
    where ${isDue('d')} and (d.test or (
      c.enabled and (d.round_attempt_count > 0 or (${isHead} and ${isOldest('d')}))
      and ${runningAttempts} < case when c.failing_since is null then ${MOST_PER_CHANNEL} else 1 end))`;
}

/** Steps from channel to channel along an index: those that have nothing to send cost nothing. */
const channelsWithPending = sql`(
  with recursive step (id) as (
    (select ${channelIf('pending', 'p')} from deliveries p where ${channelIf('pending', 'p')} is not null
      order by ${channelIf('pending', 'p')} limit 1)
    union all
    select (select ${channelIf('pending', 'p')} from deliveries p where ${channelIf('pending', 'p')} > step.id
      order by ${channelIf('pending', 'p')} limit 1)
    from step where step.id is not null)
  select id from step where id is not null)`;

/**
 * Of the channel `c`, the deliveries of a condition that have been due longest. One step in its index finds each of them: as a single
 * scan the planner could read and sort all of them.
 */
function dueLongest(condition: 'pending' | 'repeated' | 'test', limit: number): SQL {
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

/**
 * Monitors whose head may be due on the channel `c`: those of what has been due longest, so that none starves, and the first
 * ones in the index, so that one monitor's backlog does not hide the others. Bounded, however much waits.
 */
const monitorsToVisit = sql`(
  (select w.monitor_id as id from ${dueLongest('pending', MOST_VISITED)} w)
  union
  (with recursive step (id, number) as (
    (select f.monitor_id, 1 from deliveries f where ${channelIf('unattempted', 'f')} = c.id
      order by f.monitor_id limit 1)
    union all
    select (select f.monitor_id from deliveries f
      where ${channelIf('unattempted', 'f')} = c.id and f.monitor_id > step.id
      order by f.monitor_id limit 1), step.number + 1
    from step where step.id is not null and step.number < ${MOST_VISITED})
  select id from step where id is not null))`;

/** Of so many that have been due longest, `MOST_PER_CHANNEL` have no attempt under way. */
const MOST_DUE = 2 * MOST_PER_CHANNEL;

/** What a channel `c` may attempt: repetitions and test events that are due, and the head of each monitor. */
const dueOfChannel = sql`(
  (select d.id, d.next_attempt_at from ${dueLongest('test', MOST_DUE)} d where ${isFree('d')})
  union all
  (select d.id, d.next_attempt_at from ${dueLongest('repeated', MOST_DUE)} d where c.enabled and ${isFree('d')})
  union all
  (select h.id, h.next_attempt_at from ${monitorsToVisit} m
    cross join lateral (${headOf(sql`c.id`, sql`m.id`)}) h
    where c.enabled and ${isFree('h')} and ${isOldest('h')}))`;

/**
 * `turn` is which attempt of its channel it would be, those that run counted. Channels that fail wait from their last failure
 * on, or one whose receiver hangs would always be due longest.
 */
function dueByChannel({ limit, failingLimit = limit }: DueScope): SQL {
  return sql`select k.id from (
      select d.id, d.turn, d.waits_since, d.failing,
        row_number() over (partition by d.failing order by d.turn, d.waits_since) as number
      from (
        select d.id, d.turn, c.failing_since is not null as failing,
          case when c.failing_since is null then d.next_attempt_at else greatest(d.next_attempt_at, c.last_failed_at) end
            as waits_since
        from ${channelsWithPending} w join channels c on c.id = w.id and c.deleted_at is null
          and (c.failing_since is null or ${failingLimit} > 0)
        cross join lateral ${runningAttempts} r
        cross join lateral (
          select d.id, d.next_attempt_at, r.count + row_number() over (order by d.next_attempt_at) as turn
          from ${dueOfChannel} d order by d.next_attempt_at limit greatest(0, ${MOST_PER_CHANNEL} - r.count)) d) d) k
    where not k.failing or k.number <= ${failingLimit}
    order by k.turn, k.waits_since limit ${limit}`;
}
