import { and, eq, isNotNull, sql } from 'drizzle-orm';
import { z } from 'zod';
import { recordDisabled } from '../channels/audit-channels.ts';
import { channels } from '../channels/table.ts';
import type { Database, Transaction } from '../database/open.ts';
import { query, timestamptz } from '../database/sql.ts';
import { holdPendingDeliveries } from './hold-deliveries.ts';
import type { AttemptRow } from './table.ts';

/** A channel that has failed for this long without one success is disabled. */
const DISABLE_AFTER_HOURS = 72;

/** The outcome of an attempt, and what follows. */
export type AttemptOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** The 72 hours are over. */
  | { readonly kind: 'failed' }
  /** The receiver responded with 410: it wants no more. */
  | { readonly kind: 'gone' };

/** `error` is null after a 2xx response. */
export interface AttemptRecord extends Readonly<Omit<AttemptRow, 'number'>> {
  readonly leaseToken: string;
  readonly channelId: string;
  readonly url: string;
  /** Of a test event: does not affect the health of the channel. */
  readonly test: boolean;
  readonly outcome: AttemptOutcome;
}

/** The attempt is in the log already: the response to its commit was lost. Nothing is written again. */
class AlreadyRecordedError extends Error {
  override readonly name = 'AlreadyRecordedError';
}

/**
 * Records an attempt, the delivery's next state and the health of its channel, in one transaction; a repeated call changes nothing. A
 * success counts even if the lease was lost; any other outcome then only enters the log. An attempt at a former URL of the channel does
 * not change its health.
 * @returns why this attempt disabled the channel, or null
 */
export async function recordAttempt(db: Database, attempt: AttemptRecord): Promise<string | null> {
  try {
    return await db.transaction(async (tx) => {
      // Locks the channel before the delivery, as every transaction does, so that no two of them deadlock.
      const health = await readHealth(tx, attempt);
      const recorded = await updateDelivery(tx, attempt, health);
      if (recorded === null) return null;
      await insertAttempt(tx, attempt, recorded.number);
      return health?.isCurrentUrl && recorded.hadLease ? recordFailure(tx, attempt, health) : null;
    });
  } catch (error) {
    if (error instanceof AlreadyRecordedError) return null;
    throw error;
  }
}

/** Ends the channel's failures after a success; otherwise locks the channel. @returns null if its health does not change any more */
async function readHealth(tx: Transaction, attempt: AttemptRecord) {
  if (attempt.test) return null;
  const isThis = eq(channels.id, attempt.channelId);
  if (attempt.outcome.kind === 'delivered') {
    const wasFailing = and(isThis, eq(channels.url, attempt.url), isNotNull(channels.failingSince));
    await tx.update(channels).set({ failingSince: null }).where(wasFailing);
    return null;
  }
  const [channel] = await tx
    .select({
      accountId: channels.accountId,
      name: channels.name,
      enabled: channels.enabled,
      isCurrentUrl: sql<boolean>`${channels.url} = ${attempt.url}`,
      exhausted: sql<boolean>`coalesce(failing_since <= now() - make_interval(hours => ${DISABLE_AFTER_HOURS}), false)`,
    })
    .from(channels)
    .where(isThis)
    .for('no key update');
  return channel ?? null;
}
type Health = NonNullable<Awaited<ReturnType<typeof readHealth>>>;

const updatedRow = z.object({ number: z.number(), hadLease: z.boolean() });

/** @returns the attempt's number, and whether it still had the lease; null if the delivery was deleted with its channel */
async function updateDelivery(tx: Transaction, attempt: AttemptRecord, health: Health | null) {
  const { outcome } = attempt;
  const delivered = outcome.kind === 'delivered';
  // A 410 from a former URL is not final: the delivery is due at the current one.
  const isMoved = outcome.kind === 'gone' && health?.isCurrentUrl === false;
  const delayMs = outcome.kind === 'retry' ? outcome.delayMs : isMoved ? 0 : null;
  const state = delivered ? 'delivered' : delayMs === null ? 'failed' : 'pending';
  const counts = sql`(${delivered} or b.had_lease)`;
  const [row] = await query(tx, updatedRow)`
    with before as materialized (
      select id, (lease_token = ${attempt.leaseToken}) is true as had_lease from deliveries
      where id = ${attempt.deliveryId} for no key update)
    update deliveries d set
      attempt_count = d.attempt_count + 1,
      round_attempt_count = d.round_attempt_count + case when ${counts} then 1 else 0 end,
      state = case
        when ${counts} and d.state = 'pending' then ${state}
        when ${delivered} then 'delivered'
        else d.state end,
      next_attempt_at = case
        when ${counts} then now() + make_interval(secs => ${delayMs}::float8 / 1000)
        else d.next_attempt_at end,
      leased_until = case when ${counts} then null else d.leased_until end,
      lease_token = case when ${counts} then null else d.lease_token end,
      delivered_at = case when ${delivered} then coalesce(d.delivered_at, now()) else d.delivered_at end
    from before b
    where d.id = b.id
    returning d.attempt_count as number, b.had_lease`;
  return row ?? null;
}

/** The delivery is locked, so other recorded attempts are visible. Its start identifies an attempt: leases keep attempts seconds apart. */
async function insertAttempt(tx: Transaction, attempt: AttemptRecord, number: number) {
  const { deliveryId, startedAt, durationMs, statusCode, error, responseExcerpt } = attempt;
  const { rowCount } = await tx.execute(sql`
    insert into attempts (delivery_id, number, started_at, duration_ms, status_code, error, response_excerpt)
    select ${deliveryId}::uuid, ${number}::int, ${timestamptz(startedAt)}, ${durationMs}::int, ${statusCode}::int, ${error}::text,
      ${responseExcerpt}::text
    where not exists (
      select from attempts a
      where a.delivery_id = ${deliveryId} and a.started_at = ${timestamptz(startedAt)}
        and a.duration_ms = ${durationMs} and a.status_code is not distinct from ${statusCode}::int)`);
  if (rowCount === 0) throw new AlreadyRecordedError();
}

/** @returns why this failure disables the channel, or null */
async function recordFailure(tx: Transaction, { channelId, outcome }: AttemptRecord, health: Health) {
  const exhausted = health.exhausted
    ? `Every attempt of the last ${DISABLE_AFTER_HOURS} hours failed.`
    : null;
  const reason = outcome.kind === 'gone' ? 'The receiver responded with 410 Gone.' : exhausted;
  const disabledReason = health.enabled ? reason : null;
  const failed = { failingSince: sql`coalesce(${channels.failingSince}, now())`, lastFailedAt: sql`now()` };
  const values = { ...failed, ...(disabledReason !== null && { enabled: false, disabledReason }) };
  await tx.update(channels).set(values).where(eq(channels.id, channelId));
  if (disabledReason === null) return null;
  await holdPendingDeliveries(tx, channelId);
  await recordDisabled(tx, { ...health, id: channelId }, disabledReason);
  return disabledReason;
}
