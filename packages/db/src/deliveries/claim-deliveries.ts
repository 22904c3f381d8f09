import { randomUUID } from 'node:crypto';
import { WEBHOOK_EVENTS } from '@tocsin/contracts/vocabulary';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { DbContext } from '../database/open.ts';
import { prepared } from '../database/preparing-client.ts';
import { arrayOf, epochMs, preferIndexes, query } from '../database/sql.ts';
import { countedTime } from './delivery-outages.ts';
import { type DueScope, dueByChannel, dueOne, isDue, USUAL_PER_CHANNEL } from './due-deliveries.ts';

/** An attempt owns its delivery for this long: its deadline, and time to record it. */
const LEASE_SECONDS = 15;

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
