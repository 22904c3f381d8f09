import { randomUUID } from 'node:crypto';
import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import { sql, type SQL } from 'drizzle-orm';
import type { DbContext } from '../database/context.ts';

/** An attempt owns its delivery for this long: the deadline, and time to record (design §4 "Delivery"). */
const LEASE_SECONDS = 15;

/** Attempts that may run to one channel at a time: a receiver that hangs must not hold up the others. */
const MOST_PER_CHANNEL = 10;

/** A delivery that this process may attempt now, and nobody else until its lease ends. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly leaseToken: string;
  readonly channelId: string;
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
}

/** Which deliveries to claim: one that a job named, or the ones due longest. */
export type ClaimScope = { readonly deliveryId: string } | { readonly limit: number };

type ClaimedRow = Record<string, unknown> & {
  id: string;
  channel_id: string;
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
};

/**
 * Claims due deliveries by a conditional update, so that of several processes one wins (design §4 "Delivery"). A first
 * attempt, also of a redelivery, waits while an earlier delivery of the same monitor to the same channel, made or still to
 * be made, has had none. A test event waits for nobody, and needs no enabled channel.
 */
export async function claimDeliveries(context: DbContext, scope: ClaimScope): Promise<ClaimedDelivery[]> {
  const leaseToken = randomUUID();
  const { rows } = await context.db.execute<ClaimedRow>(sql`
    with due as materialized (
      ${'deliveryId' in scope ? dueOne(scope.deliveryId) : dueByChannel(scope.limit)}),
    free as (select d.id from deliveries d where d.id in (select id from due) and ${isDue} for update skip locked)
    update deliveries d set
      leased_until = now() + make_interval(secs => ${LEASE_SECONDS}),
      lease_token = ${leaseToken},
      first_attempt_at = coalesce(d.first_attempt_at, now())
    from free, channels c
    where d.id = free.id and c.id = d.channel_id and (c.enabled or d.test)
    returning d.id, d.channel_id, d.monitor_id, d.event, d.payload, d.test, d.attempt_count, d.round_attempt_count,
      c.url, c.sealed_secret,
      case when c.previous_secret_expires_at > now() then c.sealed_previous_secret end as sealed_previous_secret,
      (extract(epoch from now() - d.first_attempt_at) * 1000)::float8 as elapsed_ms`);
  return rows.map((row) => ({
    id: row.id,
    leaseToken,
    channelId: row.channel_id,
    monitorId: row.monitor_id,
    event: row.event,
    payload: row.payload,
    url: row.url,
    secrets: openSecrets(context, [row.sealed_secret, row.sealed_previous_secret]),
    test: row.test,
    attemptCount: row.attempt_count,
    roundAttemptCount: row.round_attempt_count,
    elapsedMs: Math.max(0, row.elapsed_ms),
  }));
}

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

const isDue = sql`d.state = 'pending' and d.next_attempt_at <= now()
  and (d.leased_until is null or d.leased_until <= now())`;

const isItsTurn = sql`(d.round_attempt_count > 0 or not (
  exists (
    select from deliveries e
    where e.channel_id = d.channel_id and e.monitor_id = d.monitor_id and e.timestamp < d.timestamp
      and e.state = 'pending' and e.attempt_count = 0 and not e.test)
  or exists (
    select from status_changes s
    where s.monitor_id = d.monitor_id and s.dispatched_at is null and s.timestamp < d.timestamp
      and d.channel_id = any(s.channel_ids))))`;

/** How many more attempts a channel `c` may run. */
const freeSlots = sql`greatest(0, ${MOST_PER_CHANNEL} - (
  select count(*) from deliveries l where l.channel_id = c.id and l.leased_until > now()))`;

function dueOne(deliveryId: string): SQL {
  return sql`select d.id from deliveries d join channels c on c.id = d.channel_id
    where d.id = ${deliveryId} and ${isDue} and (d.test or (c.enabled and ${isItsTurn} and ${freeSlots} > 0))`;
}

/** Steps from channel to channel along `deliveries_due_idx`: those that have nothing to send cost nothing. */
const channelsWithPending = sql`(
  with recursive step (id) as (
    (select channel_id from deliveries where state = 'pending' order by channel_id limit 1)
    union all
    select (select p.channel_id from deliveries p where p.state = 'pending' and p.channel_id > step.id
      order by p.channel_id limit 1)
    from step where step.id is not null)
  select id from step where id is not null)`;

function dueByChannel(limit: number): SQL {
  return sql`select d.id from ${channelsWithPending} w join channels c on c.id = w.id
    cross join lateral (
      select d.id, d.next_attempt_at from deliveries d
      where d.channel_id = c.id and ${isDue} and (d.test or (c.enabled and ${isItsTurn}))
      order by d.next_attempt_at limit ${freeSlots}) d
    order by d.next_attempt_at limit ${limit}`;
}
