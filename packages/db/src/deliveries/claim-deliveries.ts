import { randomUUID } from 'node:crypto';
import { WEBHOOK_EVENTS } from '@tocsin/contracts/vocabulary';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { DbContext } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { epochMs, preferIndexes, query } from '../database/sql.ts';
import { countedTime } from './delivery-outages.ts';
import { type ClaimScope, isFree, nextDeliveries } from './next-deliveries.ts';

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

/** Claims due deliveries by a conditional update, so that one of several processes wins (docs/concepts/delivery.md#fair-shares). */
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
    eligible as materialized (
      select l.id, c.account_id, c.attempt_limit, c.url, c.sealed_secret,
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
      due.concurrency >= e.attempt_limit as is_limit_reached, ${epochMs(sql`now()`)} as claimed_at, ${epochMs(countedTime(sql`d.first_attempt_at`))} as elapsed_ms,
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
