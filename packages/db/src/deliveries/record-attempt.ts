import { eq, sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { recordDisabled } from '../channels/audit-channels.ts';
import { channels } from '../channels/table.ts';
import type { Database, Transaction } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { arrayOf, preferIndexes, query, tableOf, timestamptz } from '../database/sql.ts';
import { advanceRetries } from './advance-retries.ts';
import { countedTime } from './delivery-outages.ts';
import { holdPendingDeliveries } from './hold-deliveries.ts';
import type { AttemptRow } from './table.ts';

/** A channel that has failed for this long without a success is disabled. */
const DISABLE_AFTER_HOURS = 72;

export type AttemptOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** The 72 hours are over. */
  | { readonly kind: 'failed' }
  /** The receiver responded with 410, so it wants no more webhooks. */
  | { readonly kind: 'gone' };

/** `error` is null after a 2xx response. */
export interface AttemptRecord extends Readonly<Omit<AttemptRow, 'number'>> {
  readonly leaseToken: string;
  readonly channelId: string;
  readonly url: string;
  /** True for a test event, which does not affect the health of the channel. */
  readonly test: boolean;
  readonly outcome: AttemptOutcome;
  /** Limits of concurrent attempts to the channel, when this one started and after it (see `nextAttemptLimit`). */
  readonly attemptLimit: number;
  readonly nextAttemptLimit: number;
  /** Pause that the receiver requested. No attempt to the channel starts for this long. 0 without a request. */
  readonly pauseMs: number;
}

/** Thrown if the attempt is already in the log, because the response to its commit was lost. Nothing is written again. */
class AlreadyRecordedError extends Error {
  override readonly name = 'AlreadyRecordedError';
}

/**
 * Records an attempt, the delivery's next state and the channel's health. Repeating the call changes nothing. A success counts even without
 * the lease. An attempt at a former URL does not change the health. @returns why this attempt disabled the channel, or null
 */
export async function recordAttempt(db: Database, attempt: AttemptRecord): Promise<string | null> {
  if (attempt.outcome.kind === 'delivered') {
    await recordDelivered(db, [attempt]);
    return null;
  }
  return recordOnce(db, async (tx) => {
    // The channel is locked before the delivery, as in every transaction, so that no two of them deadlock.
    const health = attempt.test ? null : await lockHealth(tx, attempt);
    const recorded = await updateDelivery(tx, attempt, health);
    if (recorded === null) return null;
    await insertAttempt(tx, attempt, recorded.number);
    return health?.isCurrentUrl && recorded.hadLease ? recordFailure(tx, attempt, health) : null;
  });
}

/** Runs a transaction, and rolls it back if its attempts are already in the log. @returns null in that case */
async function recordOnce<Result>(
  db: Database,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result | null> {
  try {
    return await db.transaction(work);
  } catch (error) {
    if (error instanceof AlreadyRecordedError) return null;
    throw error;
  }
}

/** Channel of a delivery that was attempted before, or null for any other. */
const lockedRow = z.object({ retriedChannelId: z.string().nullable() });
/** `hadFailed` is true if the channel had failed for a minute, and null if it was not failing. */
const changedRow = z.object({ id: z.string(), hadFailed: z.boolean().nullable() });

/** Records successful attempts as `recordAttempt` does, all in one transaction. */
export async function recordDelivered(db: Database, delivered: readonly AttemptRecord[]): Promise<void> {
  const table = tableOf('u', delivered, {
    id: ['uuid', ({ deliveryId }) => deliveryId],
    started_at: ['timestamptz', ({ startedAt }) => startedAt],
    duration_ms: ['int', ({ durationMs }) => durationMs],
    status_code: ['int', ({ statusCode }) => statusCode],
    response_excerpt: ['text', ({ responseExcerpt }) => responseExcerpt],
  });
  const deliveryIds = delivered.map(({ deliveryId }) => deliveryId);
  const ids = arrayOf('uuid', deliveryIds);
  await recordOnce(db, async (tx) => {
    await preferIndexes(tx);
    const recovered = await endFailures(tx, delivered);
    const locked = await query(tx, lockedRow)`${PREPARE}
      select case when round_attempt_count > 0 and not test then channel_id end as retried_channel_id
      from deliveries where id = any(${ids}) order by id for no key update`;
    const { rowCount } = await tx.execute(sql`${PREPARE}
      with recorded as (
        update deliveries d set
          attempt_count = d.attempt_count + 1,
          round_attempt_count = d.round_attempt_count + 1,
          state = 'delivered',
          next_attempt_at = null,
          leased_until = null,
          lease_token = null,
          delivered_at = coalesce(d.delivered_at, now())
        from ${table}
        where d.id = any(${ids}) and d.id = u.id and not ${isInLog(sql`u.id`, sql`u.started_at`, sql`u.duration_ms`, sql`u.status_code`)}
        returning d.id, d.attempt_count as number, u.started_at, u.duration_ms, u.status_code, u.response_excerpt)
      insert into attempts (delivery_id, number, started_at, duration_ms, status_code, response_excerpt)
      select * from recorded`);
    if (rowCount === 0) throw new AlreadyRecordedError();
    const channelIds = new Set(delivered.flatMap(({ test, channelId }) => (test ? [] : channelId)));
    const working = new Set([...recovered, ...locked.map((row) => row.retriedChannelId)]);
    await advanceRetries(tx, channelIds, working);
  });
}

/** Ends failures and changes limits, unless these have changed in the meantime. @returns the channels that had failed for a minute */
async function endFailures(tx: Transaction, delivered: readonly AttemptRecord[]): Promise<string[]> {
  // Attempts are grouped by URL, because one at a former URL must not decide.
  const byReceiver = new Map<string, AttemptRecord>();
  for (const attempt of delivered) {
    if (attempt.test) continue;
    const receiver = `${attempt.channelId} ${attempt.url}`;
    const other = byReceiver.get(receiver);
    if (other === undefined || decides(attempt, other)) byReceiver.set(receiver, attempt);
  }
  if (byReceiver.size === 0) return [];
  const deciding = [...byReceiver.values()];
  const channelIds = deciding.map(({ channelId }) => channelId);
  const changed = await query(tx, changedRow)`${PREPARE}
    with changed as materialized (
      select c.id, c.failing_since, u.attempt_limit, u.next_attempt_limit
      from channels c join ${tableOf('u', deciding, {
        id: ['uuid', ({ channelId }) => channelId],
        url: ['text', ({ url }) => url],
        attempt_limit: ['int', ({ attemptLimit }) => attemptLimit],
        next_attempt_limit: ['int', ({ nextAttemptLimit }) => nextAttemptLimit],
      })} on u.id = c.id and u.url = c.url
      where c.id = any(${arrayOf('uuid', channelIds)})
        and (c.failing_since is not null or (c.attempt_limit = u.attempt_limit and u.next_attempt_limit <> u.attempt_limit))
      order by c.id for no key update of c)
    update channels c set
      failing_since = null,
      attempt_limit = case when c.attempt_limit = u.attempt_limit then u.next_attempt_limit else c.attempt_limit end
    from changed u where c.id = any(array(select id from changed)) and c.id = u.id
    returning c.id, u.failing_since <= now() - interval '1 minute' as had_failed`;
  return changed.flatMap(({ id, hadFailed }) => (hadFailed === true ? id : []));
}

/** Reports whether this attempt decides about the limit. The later one does. If the limit is the same, a decrease wins. */
function decides(attempt: AttemptRecord, other: AttemptRecord): boolean {
  if (attempt.attemptLimit !== other.attemptLimit) return attempt.startedAt > other.startedAt;
  const [next, otherNext] = [attempt.nextAttemptLimit, other.nextAttemptLimit];
  const isLower = Math.min(next, otherNext) < attempt.attemptLimit;
  return isLower ? next < otherNext : next > otherNext;
}

/** Locks the health of a channel. @returns null if the channel was deleted with its deliveries */
async function lockHealth(tx: Transaction, attempt: AttemptRecord) {
  const [channel] = await tx
    .select({
      accountId: channels.accountId,
      name: channels.name,
      enabled: channels.enabled,
      isCurrentUrl: sql<boolean>`${channels.url} = ${attempt.url}`,
      exhausted: sql<boolean>`coalesce(${countedTime(sql`failing_since`)} >= make_interval(hours => ${DISABLE_AFTER_HOURS}), false)`,
    })
    .from(channels)
    .where(eq(channels.id, attempt.channelId))
    .for('no key update');
  return channel ?? null;
}
type Health = NonNullable<Awaited<ReturnType<typeof lockHealth>>>;

const updatedRow = z.object({ number: z.number(), hadLease: z.boolean() });

/** Updates the delivery. @returns the attempt's number, and whether it still had the lease, or null if the delivery was deleted with its channel */
async function updateDelivery(tx: Transaction, attempt: AttemptRecord, health: Health | null) {
  const { outcome } = attempt;
  // A 410 from a former URL is not final, so the delivery is due at the current one.
  const isMoved = outcome.kind === 'gone' && health?.isCurrentUrl === false;
  const delayMs = outcome.kind === 'retry' ? outcome.delayMs : isMoved ? 0 : null;
  const state = delayMs === null ? 'failed' : 'pending';
  const [row] = await query(tx, updatedRow)`
    with before as materialized (
      select id, (lease_token = ${attempt.leaseToken}) is true as had_lease from deliveries
      where id = ${attempt.deliveryId} for no key update)
    update deliveries d set
      attempt_count = d.attempt_count + 1,
      round_attempt_count = d.round_attempt_count + case when b.had_lease then 1 else 0 end,
      state = case when b.had_lease and d.state = 'pending' then ${state} else d.state end,
      next_attempt_at = case
        when b.had_lease then now() + make_interval(secs => ${delayMs}::float8 / 1000)
        else d.next_attempt_at end,
      leased_until = case when b.had_lease then null else d.leased_until end,
      lease_token = case when b.had_lease then null else d.lease_token end
    from before b
    where d.id = b.id
    returning d.attempt_count as number, b.had_lease`;
  return row ?? null;
}

/** Condition that the log has an attempt. Its start identifies it, because leases keep attempts seconds apart. */
function isInLog(deliveryId: SQL, startedAt: SQL, durationMs: SQL, statusCode: SQL): SQL {
  return sql`exists (
    select from attempts a
    where a.delivery_id = ${deliveryId} and a.started_at = ${startedAt}
      and a.duration_ms = ${durationMs} and a.status_code is not distinct from ${statusCode})`;
}

/** Inserts an attempt. The delivery is locked, so other recorded attempts are visible. */
async function insertAttempt(tx: Transaction, attempt: AttemptRecord, number: number) {
  const { deliveryId, durationMs, statusCode, error, responseExcerpt } = attempt;
  const startedAt = timestamptz(attempt.startedAt);
  const { rowCount } = await tx.execute(sql`
    insert into attempts (delivery_id, number, started_at, duration_ms, status_code, error, response_excerpt)
    select ${deliveryId}::uuid, ${number}::int, ${startedAt}, ${durationMs}::int, ${statusCode}::int, ${error}::text,
      ${responseExcerpt}::text
    where not ${isInLog(sql`${deliveryId}`, startedAt, sql`${durationMs}`, sql`${statusCode}::int`)}`);
  if (rowCount === 0) throw new AlreadyRecordedError();
}

/** Records a failure. @returns why it disables the channel, or null */
async function recordFailure(tx: Transaction, attempt: AttemptRecord, health: Health) {
  const { channelId, outcome, attemptLimit, nextAttemptLimit, pauseMs } = attempt;
  const exhausted = health.exhausted
    ? `Every attempt of the last ${DISABLE_AFTER_HOURS} hours failed.`
    : null;
  const reason = outcome.kind === 'gone' ? 'The receiver responded with 410 Gone.' : exhausted;
  const disabledReason = health.enabled ? reason : null;
  const failed = {
    failingSince: sql`coalesce(${channels.failingSince}, now())`,
    lastFailedAt: sql`now()`,
    attemptLimit: sql`case when ${channels.attemptLimit} = ${attemptLimit} then ${nextAttemptLimit}::int else ${channels.attemptLimit} end`,
    ...(pauseMs > 0 && {
      pausedUntil: sql`greatest(${channels.pausedUntil}, now() + make_interval(secs => ${pauseMs}::float8 / 1000))`,
    }),
  };
  const values = { ...failed, ...(disabledReason !== null && { enabled: false, disabledReason }) };
  await tx.update(channels).set(values).where(eq(channels.id, channelId));
  if (disabledReason === null) return null;
  await holdPendingDeliveries(tx, channelId);
  await recordDisabled(tx, { ...health, id: channelId }, disabledReason);
  return disabledReason;
}
