import type {
  Attempt,
  DeliveriesQuery,
  Delivery,
  DeliveryDetail,
} from '@tocsin/contracts/deliveries/delivery';
import { DELIVERY_STATES } from '@tocsin/contracts/vocabulary';
import { and, desc, eq, getTableColumns, isNull, sql } from 'drizzle-orm';
import { z } from 'zod';
import { channels } from '../channels/table.ts';
import { requireFound } from '../database/errors.ts';
import type { Database, Queryable } from '../database/open.ts';
import { pageAfter } from '../database/page.ts';
import { type Backlog, backlogRow, queryOne, toWire } from '../database/sql.ts';
import { type AttemptRow, attempts, channelIf, deliveries, type DeliveryRow } from './table.ts';

/** A channel whose attempts all fail is attempted every minute, so a delivery can have thousands of attempts. */
const MAX_ATTEMPTS_READ = 500;
/** Id and name of the monitor in a test event. */
export const TEST_MONITOR = 'test';

export function toDelivery(row: Omit<DeliveryRow, 'payload'>): Delivery {
  const { id, event, state, timestamp, createdAt, deliveredAt, nextAttemptAt, attemptCount, test } = row;
  const monitorId = test ? TEST_MONITOR : row.monitorId;
  const times = { timestamp, createdAt, deliveredAt, nextAttemptAt };
  return toWire({ id, event, monitorId, state, ...times, attemptCount, test });
}

export function toAttempt(row: AttemptRow): Attempt {
  const { startedAt, durationMs, statusCode, error, responseExcerpt } = row;
  return toWire({ startedAt, durationMs, statusCode, error, responseExcerpt });
}

/** Finds the account's delivery with this id. @throws AppError not_found */
export async function findDeliveryRow(db: Queryable, accountId: string, id: string): Promise<DeliveryRow> {
  const rows = await db
    .select({ delivery: deliveries })
    .from(deliveries)
    .innerJoin(channels, and(eq(channels.id, deliveries.channelId), isNull(channels.deletedAt)))
    .where(and(eq(deliveries.id, id), eq(deliveries.accountId, accountId)));
  return requireFound(rows, 'delivery').delivery;
}

/** Reads a delivery with its payload and its last attempts, in order. @throws AppError not_found */
export async function getDelivery(db: Database, accountId: string, id: string): Promise<DeliveryDetail> {
  const row = await findDeliveryRow(db, accountId, id);
  const isMade = eq(attempts.deliveryId, id);
  const latest = db.select().from(attempts).where(isMade).orderBy(desc(attempts.number));
  const made = (await latest.limit(MAX_ATTEMPTS_READ)).toReversed();
  return {
    ...toDelivery(row),
    payload: row.payload,
    formatError: row.formatError,
    attempts: made.map((attempt) => Object.assign({ number: attempt.number }, toAttempt(attempt))),
  };
}

const { payload: _, ...lineColumns } = getTableColumns(deliveries);

/**
 * Reads a page of a channel's delivery log, newest first. Starts after the delivery `before`, or with the latest one.
 * @param channelId a channel of the caller's account
 * @throws AppError validation_failed if `before` is not a delivery of the channel
 */
export async function listDeliveries(
  db: Database,
  channelId: string,
  { state, limit, before }: DeliveriesQuery,
): Promise<Delivery[]> {
  const scope = eq(deliveries.channelId, channelId);
  const message = 'is not a delivery of this channel';
  const list = { table: deliveries, time: deliveries.createdAt, id: deliveries.id, scope, message };
  const isOlder = await pageAfter(db, list, before);
  const newestFirst = [desc(deliveries.createdAt), desc(deliveries.id)];
  // Reads the newest deliveries in each state separately, because the index orders deliveries within a state.
  const newest = (state === undefined ? DELIVERY_STATES : [state]).map((one) => {
    const isOfState = and(scope, eq(deliveries.state, one), isOlder);
    return sql`(${db
      .select({ id: deliveries.id })
      .from(deliveries)
      .where(isOfState)
      .orderBy(...newestFirst)
      .limit(limit)})`;
  });
  const rows = await db
    .select(lineColumns)
    .from(deliveries)
    .where(sql`${deliveries.id} = any(array(${sql.join(newest, sql` union all `)}))`)
    .orderBy(...newestFirst)
    .limit(limit);
  return rows.map(toDelivery);
}

/** Counts due deliveries, with the time for which the oldest has been due. */
export async function deliveryBacklog(db: Database): Promise<Backlog> {
  return queryOne(db, backlogRow)`
    select count(*)::int as count, extract(epoch from now() - min(next_attempt_at))::float8 as oldest_seconds
    from deliveries where ${channelIf('pending')} is not null and next_attempt_at <= now()
      and channel_id not in (select id from channels where deleted_at is not null)`;
}

/** Counts the deliveries that wait for a redelivery. Reads each of them. */
export async function countHeldDeliveries(db: Database): Promise<number> {
  const { count } = await queryOne(db, z.object({ count: z.number() }))`
    select coalesce(sum(held.count), 0)::int as count from channels c cross join lateral (
      select count(*) from deliveries where channel_id = c.id and state = 'held') held
    where c.deleted_at is null`;
  return count;
}
