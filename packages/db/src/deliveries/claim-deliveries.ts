import { randomUUID } from 'node:crypto';
import { WEBHOOK_EVENTS } from '@tocsin/contracts/vocabulary';
import { withRoutingKey } from '@tocsin/core/formats/paging';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { DbContext } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { epochMs, preferIndexes, query } from '../database/sql.ts';
import { countedTime } from './delivery-outages.ts';
import { type ClaimScope, isFree, nextDeliveries } from './next-deliveries.ts';
import { REMINDED } from './remind.ts';

/** An attempt owns its delivery until its deadline, plus time to record it. */
const LEASE_SECONDS = 15;
const claimedRow = z.object({
  id: z.string(),
  /** Time of the claim by PostgreSQL's clock. */
  claimedAt: z.number().transform((time) => new Date(time)),
  accountId: z.string(),
  channelId: z.string(),
  /** Maximum concurrent attempts to its channel across all notifiers. */
  attemptLimit: z.number(),
  /** True if the channel reached `attemptLimit` with this attempt. */
  isLimitReached: z.boolean(),
  monitorId: z.string(),
  event: z.enum(WEBHOOK_EVENTS),
  payload: z.string(),
  url: z.string(),
  sealedSecret: z.string(),
  sealedPreviousSecret: z.string().nullable(),
  sealedHeaders: z.record(z.string(), z.string()).nullable(),
  sealedRoutingKey: z.string().nullable(),
  formatError: z.string().nullable(),
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
  Omit<
    z.output<typeof claimedRow>,
    'sealedSecret' | 'sealedPreviousSecret' | 'sealedHeaders' | 'sealedRoutingKey'
  >
> {
  readonly leaseToken: string;
  /** The channel's valid signing secrets, current one first. Empty if no key decrypts them, a header or the routing key. */
  readonly secrets: readonly string[];
  /** Additional request headers of the channel. */
  readonly headers: Readonly<Record<string, string>>;
  /** Routing key in the payload. Null if it has none. */
  readonly routingKey: string | null;
}

/**
 * Selects a later delivery to the channel of the repeated delivery `l`. PagerDuty and Alertmanager keep the last state that they received,
 * so a late repetition would leave an alert that is over, or end one that is not.
 */
const overtaking: SQL = sql`
  select n.id from status_changes s
  join deliveries n on n.status_change_id = s.id and n.channel_id = l.channel_id and n.state in ('pending', 'delivered')
  where s.monitor_id = l.monitor_id and s.timestamp > l.timestamp and s.id <> l.status_change_id
    and (select format from channels where id = l.channel_id) in ('pagerduty', 'alertmanager')
  limit 1`;

/**
 * Claims due deliveries by a conditional update, so that one of several processes wins (docs/concepts/delivery.md#fair-shares). Reminders
 * that are no longer needed, and repetitions that a later event has overtaken, become `failed` instead.
 */
export async function claimDeliveries(
  { db, secrets }: DbContext,
  scope: ClaimScope,
  withTrace = false,
): Promise<ClaimedDelivery[]> {
  const leaseToken = randomUUID();
  // All events of a status change belong to one trace.
  const traceparent = sql`(
    select s.webhook_events -> 0 ->> 'traceparent' from status_changes s where s.id = d.status_change_id)`;
  const rows = await db.transaction(async (tx) => {
    await preferIndexes(tx);
    return query(tx, claimedRow)`${PREPARE}
    with due as materialized (${nextDeliveries(scope)}),
    locked as materialized (
      select d.* from deliveries d where d.id = any(array(select id from due)) for update skip locked),
    obsolete as (
      update deliveries d set state = 'failed', next_attempt_at = null, leased_until = null, lease_token = null
      where d.id = any(array(
        select l.id from locked l where l.state = 'pending' and ${isFree('l')}
          and case when l.reminder then (select r.id from ${REMINDED} r where r.id = l.monitor_id limit 1) is null
            else l.round_attempt_count > 0 and (${overtaking}) is not null end))
      returning d.id),
    eligible as materialized (
      select l.id, c.account_id, c.attempt_limit, c.url, c.sealed_secret, c.sealed_headers,
        case when c.previous_secret_expires_at > now() then c.sealed_previous_secret end as sealed_previous_secret
      from locked l cross join lateral (select * from channels where id = l.channel_id offset 0) c
      where l.state = 'pending' and ${isFree('l')} and (c.enabled or l.test) and c.deleted_at is null
        and l.id not in (select id from obsolete)),
    claimed as (
      update deliveries d set
        leased_until = now() + make_interval(secs => ${LEASE_SECONDS}),
        lease_token = ${leaseToken},
        first_attempt_at = coalesce(d.first_attempt_at, now())
      where d.id = any(array(select id from eligible))
      returning d.id, d.channel_id, d.monitor_id, d.event, d.payload, d.sealed_routing_key, d.format_error, d.test, d.attempt_count,
        d.round_attempt_count, d.first_attempt_at, d.status_change_id)
    select e.*, d.channel_id, d.monitor_id, d.event, d.payload, d.sealed_routing_key, d.format_error, d.test, d.attempt_count,
      d.round_attempt_count,
      due.concurrency >= e.attempt_limit as is_limit_reached, ${epochMs(sql`now()`)} as claimed_at, ${epochMs(countedTime(sql`d.first_attempt_at`))} as elapsed_ms,
      ${withTrace ? traceparent : sql`null`} as traceparent
    from claimed d join eligible e on e.id = d.id join due on due.id = d.id`;
  });
  return rows.map((row) => {
    const { sealedSecret, sealedPreviousSecret, sealedHeaders, sealedRoutingKey, ...delivery } = row;
    const valid = [sealedSecret, sealedPreviousSecret].flatMap((sealed) => decryptOrNone(secrets, sealed));
    const sealedEntries = Object.entries(sealedHeaders ?? {});
    const headers = sealedEntries.flatMap(([name, sealed]) =>
      decryptOrNone(secrets, sealed).map((value) => [name, value] as const),
    );
    const [routingKey = null] = decryptOrNone(secrets, sealedRoutingKey);
    const isReadable =
      headers.length === sealedEntries.length && (routingKey !== null) === (sealedRoutingKey !== null);
    return Object.assign(delivery, {
      leaseToken,
      secrets: isReadable ? valid : [],
      headers: Object.fromEntries(headers),
      routingKey,
      payload: routingKey === null ? delivery.payload : withRoutingKey(delivery.payload, routingKey),
    });
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
