import type {
  Attempt,
  DeliveriesQuery,
  Delivery,
  DeliveryDetail,
} from '@tocsin/contracts/deliveries/delivery';
import { AppError } from '@tocsin/contracts/errors';
import { and, asc, desc, eq, getTableColumns, isNull, sql, type SQL } from 'drizzle-orm';
import { channels } from '../channels/table.ts';
import { unknownCursor } from '../database/errors.ts';
import type { Database, Queryable } from '../database/open.ts';
import { type AttemptRow, attempts, channelIf, deliveries, type DeliveryRow } from './table.ts';

/** What a test event names as its monitor, by id and by name (design §3 "Webhooks"). */
export const TEST_MONITOR = 'test';

/** The wire record of a delivery, as a line of the log. */
export function toDelivery(row: Omit<DeliveryRow, 'payload'>): Delivery {
  return {
    id: row.id,
    event: row.event,
    monitorId: row.test ? TEST_MONITOR : row.monitorId,
    state: row.state,
    timestamp: row.timestamp.toISOString(),
    createdAt: row.createdAt.toISOString(),
    deliveredAt: row.deliveredAt?.toISOString() ?? null,
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    attemptCount: row.attemptCount,
    test: row.test,
  };
}

/** The wire record of an attempt. */
export function toAttempt(row: AttemptRow): Attempt {
  return {
    startedAt: row.startedAt.toISOString(),
    durationMs: row.durationMs,
    statusCode: row.statusCode,
    error: row.error,
    responseExcerpt: row.responseExcerpt,
  };
}

/** The account's delivery with this id. @throws AppError not_found */
export async function findDeliveryRow(db: Queryable, accountId: string, id: string): Promise<DeliveryRow> {
  const [row] = await db
    .select({ delivery: deliveries })
    .from(deliveries)
    .innerJoin(channels, and(eq(channels.id, deliveries.channelId), isNull(channels.deletedAt)))
    .where(and(eq(deliveries.id, id), eq(deliveries.accountId, accountId)));
  if (!row) throw deliveryNotFound();
  return row.delivery;
}

/** An error that says the same for an unknown delivery and for another account's. */
export function deliveryNotFound(): AppError {
  return new AppError('not_found', 'There is no delivery with this id.');
}

/** A delivery with its payload and every attempt, in order. @throws AppError not_found */
export async function getDelivery(db: Database, accountId: string, id: string): Promise<DeliveryDetail> {
  const row = await findDeliveryRow(db, accountId, id);
  const made = await db
    .select()
    .from(attempts)
    .where(eq(attempts.deliveryId, id))
    .orderBy(asc(attempts.number));
  return {
    ...toDelivery(row),
    payload: row.payload,
    attempts: made.map(toNumberedAttempt),
  };
}

function toNumberedAttempt(row: AttemptRow): DeliveryDetail['attempts'][number] {
  return { number: row.number, ...toAttempt(row) };
}

const { payload: _, ...lineColumns } = getTableColumns(deliveries);

/**
 * A page of a channel's delivery log, newest first: those made before the delivery `before`, or the latest.
 * @param channelId a channel that the caller has found to be the account's
 * @throws AppError validation_failed where `before` is no delivery of the channel
 */
export async function listDeliveries(
  db: Database,
  channelId: string,
  { state, limit, before }: DeliveriesQuery,
): Promise<Delivery[]> {
  const rows = await db
    .select(lineColumns)
    .from(deliveries)
    .where(
      and(
        eq(deliveries.channelId, channelId),
        state && eq(deliveries.state, state),
        before === undefined ? undefined : await isBefore(db, channelId, before),
      ),
    )
    .orderBy(desc(deliveries.createdAt), desc(deliveries.id))
    .limit(limit);
  return rows.map(toDelivery);
}

async function isBefore(db: Database, channelId: string, id: string): Promise<SQL> {
  const [cursor] = await db
    .select({ createdAt: deliveries.createdAt })
    .from(deliveries)
    .where(and(eq(deliveries.id, id), eq(deliveries.channelId, channelId)));
  if (!cursor) throw unknownCursor('is not a delivery of this channel');
  return sql`(${deliveries.createdAt}, ${deliveries.id}) < (${cursor.createdAt.toISOString()}::timestamptz, ${id}::uuid)`;
}

/** Deliveries whose attempt is due, and how long the longest has been due in seconds (0 without any). */
export async function deliveryBacklog(db: Database): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await db.execute<{ count: number; oldest: number | null }>(sql`
    select count(*)::int as count, extract(epoch from now() - min(next_attempt_at))::float8 as oldest
    from deliveries where ${channelIf('pending')} is not null and next_attempt_at <= now()
      and channel_id not in (select id from channels where deleted_at is not null)`);
  return { count: rows[0]?.count ?? 0, oldestSeconds: Math.max(0, rows[0]?.oldest ?? 0) };
}

/** Deliveries that nobody sends until a redelivery releases them. Reads the whole log of deliveries: not for every second. */
export async function countHeldDeliveries(db: Database): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from deliveries where state = 'held'
      and channel_id not in (select id from channels where deleted_at is not null)`,
  );
  return rows[0]?.count ?? 0;
}
