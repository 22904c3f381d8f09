import { and, eq, isNotNull, sql } from 'drizzle-orm';
import { channels } from '../channels/table.ts';
import type { Database, Transaction } from '../database/open.ts';
import { holdPendingDeliveries } from './hold-deliveries.ts';

/** A channel that has failed for this long without one success is disabled (design §4 "Delivery"). */
const DISABLE_AFTER_HOURS = 72;

/** What an attempt came to, and what follows. */
export type AttemptOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** 72 h are over. */
  | { readonly kind: 'failed' }
  /** The receiver answered 410: it wants no more. */
  | { readonly kind: 'gone' };

export interface AttemptRecord {
  readonly deliveryId: string;
  readonly leaseToken: string;
  readonly channelId: string;
  /** Where it was sent. */
  readonly url: string;
  /** Of a test event: says nothing about the health of the channel. */
  readonly test: boolean;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly statusCode: number | null;
  /** Null where the receiver answered 2xx. */
  readonly error: string | null;
  readonly responseExcerpt: string | null;
  readonly outcome: AttemptOutcome;
}

/** This very attempt is in the log already: its commit went unanswered, and nothing is to be written again. */
class AlreadyRecordedError extends Error {
  override readonly name = 'AlreadyRecordedError';
}

/**
 * Records an attempt and what follows from it: the delivery's next state and its channel's health, in one transaction. A
 * success counts even where the lease was lost meanwhile; any other outcome then only enters the log. The health of a channel
 * is that of its present URL: an attempt at another one does not touch it. Recording the same attempt again changes nothing.
 * @returns why the channel was disabled by this attempt, or null
 */
export async function recordAttempt(db: Database, attempt: AttemptRecord): Promise<string | null> {
  try {
    return await db.transaction(async (tx) => {
      // Channel before delivery, as everywhere: two transactions never wait for each other crosswise.
      const health = await openHealth(tx, attempt);
      const outcome = outcomeAt(attempt, health);
      const recorded = await updateDelivery(tx, attempt, outcome);
      if (recorded === null) return null;
      await insertAttempt(tx, attempt, recorded.number);
      return health?.isPresentUrl && recorded.held ? recordFailure(tx, attempt, health) : null;
    });
  } catch (error) {
    if (error instanceof AlreadyRecordedError) return null;
    throw error;
  }
}

/**
 * The transaction holds the delivery by now, so the statement sees what another one recorded of it before. An attempt is known
 * by its start: leases keep two of one delivery apart by seconds.
 */
async function insertAttempt(tx: Transaction, attempt: AttemptRecord, number: number): Promise<void> {
  const { rowCount } = await tx.execute(sql`
    insert into attempts (delivery_id, number, started_at, duration_ms, status_code, error, response_excerpt)
    select u.* from (values (${attempt.deliveryId}::uuid, ${number}::int, ${attempt.startedAt.toISOString()}::timestamptz(3),
      ${attempt.durationMs}::int, ${attempt.statusCode}::int, ${attempt.error}::text, ${attempt.responseExcerpt}::text))
      as u (delivery_id, number, started_at, duration_ms, status_code, error, response_excerpt)
    where not exists (
      select from attempts a
      where a.delivery_id = u.delivery_id and a.started_at = u.started_at and a.duration_ms = u.duration_ms
        and a.status_code is not distinct from u.status_code)`);
  if (rowCount === 0) throw new AlreadyRecordedError();
}

/** Of a channel whose row is locked. */
interface Health {
  readonly enabled: boolean;
  /** Whether the attempt went where the channel sends now. */
  readonly isPresentUrl: boolean;
  /** Whether it has failed for long enough to be disabled by one more failure. */
  readonly exhausted: boolean;
}

/** Ends the channel's failures after a success. @returns what a failure may change; null where there is nothing more to do */
async function openHealth(tx: Transaction, attempt: AttemptRecord): Promise<Health | null> {
  if (attempt.test) return null;
  const isThis = eq(channels.id, attempt.channelId);
  if (attempt.outcome.kind === 'delivered') {
    await tx
      .update(channels)
      .set({ failingSince: null })
      .where(and(isThis, eq(channels.url, attempt.url), isNotNull(channels.failingSince)));
    return null;
  }
  const [channel] = await tx
    .select({
      enabled: channels.enabled,
      isPresentUrl: sql<boolean>`${channels.url} = ${attempt.url}`,
      exhausted: sql<boolean>`coalesce(failing_since <= now() - make_interval(hours => ${DISABLE_AFTER_HOURS}), false)`,
    })
    .from(channels)
    .where(isThis)
    .for('no key update');
  return channel ?? null;
}

/** Who answered 410 is not asked any more; where the channel's URL has changed, its delivery is due at the present one. */
function outcomeAt({ outcome }: AttemptRecord, health: Health | null): AttemptOutcome {
  return outcome.kind === 'gone' && health?.isPresentUrl === false ? { kind: 'retry', delayMs: 0 } : outcome;
}

/** @returns why this failure disables the channel, or null */
async function recordFailure(
  tx: Transaction,
  attempt: AttemptRecord,
  health: Health,
): Promise<string | null> {
  const disabledReason = health.enabled ? reasonToDisable(attempt, health.exhausted) : null;
  await tx
    .update(channels)
    .set({
      failingSince: sql`coalesce(${channels.failingSince}, now())`,
      lastFailedAt: sql`now()`,
      ...(disabledReason !== null && { enabled: false, disabledReason }),
    })
    .where(eq(channels.id, attempt.channelId));
  if (disabledReason !== null) await holdPendingDeliveries(tx, attempt.channelId);
  return disabledReason;
}

function reasonToDisable(attempt: AttemptRecord, exhausted: boolean): string | null {
  if (attempt.outcome.kind === 'gone') return 'The receiver answered 410 Gone.';
  return exhausted ? `Every attempt of the last ${DISABLE_AFTER_HOURS} hours failed.` : null;
}

/** @returns the attempt's number, and whether it held the lease until now; null where the delivery is gone with its channel */
async function updateDelivery(
  tx: Transaction,
  attempt: AttemptRecord,
  outcome: AttemptOutcome,
): Promise<{ number: number; held: boolean } | null> {
  const delivered = outcome.kind === 'delivered';
  const state = { delivered: 'delivered', retry: 'pending', failed: 'failed', gone: 'failed' }[outcome.kind];
  const delayMs = outcome.kind === 'retry' ? outcome.delayMs : null;
  const counts = sql`(${delivered} or b.held)`;
  const { rows } = await tx.execute<{ number: number; held: boolean }>(sql`
    with before as materialized (
      select id, (lease_token = ${attempt.leaseToken}) is true as held from deliveries
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
    returning d.attempt_count as number, b.held`);
  return rows[0] ?? null;
}
