import type { Delivery } from '@tocsin/contracts/deliveries/delivery';
import { AppError } from '@tocsin/contracts/errors';
import { and, asc, eq, gte, inArray, isNull, lt, lte, or, sql, type SQL } from 'drizzle-orm';
import { lockChannelRow } from '../channels/read-channels.ts';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf, clockNow } from '../database/sql.ts';
import { findDeliveryRow, toDelivery } from './read-deliveries.ts';
import { deliveries } from './table.ts';

/** Deliveries that one transaction releases: it ends long before its timeout, and holds the channel for a moment only. */
const RELEASED_AT_ONCE = 1_000;
/** Deliveries that one call reads; the next call reads those that are left. */
const MAX_READ = 50_000;

/** A due delivery whose retry schedule starts over; its attempts go on counting (design §4 "Delivery"). */
const AFRESH = {
  state: 'pending',
  nextAttemptAt: clockNow,
  firstAttemptAt: null,
  roundAttemptCount: 0,
  leasedUntil: null,
  leaseToken: null,
} as const;

const isIdle = or(isNull(deliveries.leasedUntil), lte(deliveries.leasedUntil, sql`now()`));

/**
 * Makes a delivery due again, whatever became of it.
 * @throws AppError not_found; conflict where its channel is disabled, or an attempt of it is under way
 */
export async function redeliver(db: Database, accountId: string, id: string): Promise<Delivery> {
  return db.transaction(async (tx) => {
    const { channelId } = await findDeliveryRow(tx, accountId, id);
    await lockEnabledChannel(tx, accountId, channelId);
    const [row] = await tx
      .update(deliveries)
      .set(AFRESH)
      .where(and(eq(deliveries.id, id), isIdle))
      .returning();
    if (row) return toDelivery(row);
    throw new AppError('conflict', 'An attempt of this delivery is under way: see what it comes to first.');
  });
}

/** What one transaction of a redelivery released. */
interface Released {
  /** Oldest event first. */
  readonly ids: readonly string[];
  /** Deliveries that later transactions are to release, without those that wait for their first attempt anyway. */
  readonly remaining: number;
}

/**
 * Makes a channel's undelivered deliveries due again, test events apart: those whose stamp is in `since` (inclusive) to
 * `until` (exclusive) and of which no attempt is under way. In one transaction for each thousand, the oldest first: those that
 * are released stay so if a later transaction fails, or the caller takes no more. What waits for its first attempt anyway, as what
 * an earlier call released, comes last: so the next call continues where the caller stopped.
 * @returns what each transaction released, once it has committed; at least one
 * @throws AppError not_found; conflict where the channel is disabled
 */
export async function* redeliverUndelivered(
  db: Database,
  accountId: string,
  channelId: string,
  range: { readonly since: Date; readonly until: Date },
  maxRead: number = MAX_READ,
): AsyncGenerator<Released, void, undefined> {
  const waitsForFirst = sql<boolean>`${deliveries.state} = 'pending' and ${deliveries.roundAttemptCount} = 0`;
  const found = await db
    .select({ id: deliveries.id, waitsForFirst })
    .from(deliveries)
    .where(isUndelivered(channelId, range))
    .orderBy(asc(waitsForFirst), asc(deliveries.timestamp), asc(deliveries.id))
    // One more shows whether there are others.
    .limit(maxRead + 1);
  const end = Math.min(found.length, maxRead);
  const needed = found.filter((delivery) => !delivery.waitsForFirst).length;
  let from = 0;
  do {
    const ids = found.slice(from, from + RELEASED_AT_ONCE).map(({ id }) => id);
    from += RELEASED_AT_ONCE;
    yield {
      ids: await release(db, accountId, channelId, ids, range),
      remaining: Math.max(0, needed - from),
    };
  } while (from < end);
}

/** @returns those that were released, in the given order: meanwhile others may have been delivered, or be under way */
async function release(
  db: Database,
  accountId: string,
  channelId: string,
  ids: readonly string[],
  range: { since: Date; until: Date },
): Promise<string[]> {
  const rows = await db.transaction(async (tx) => {
    await lockEnabledChannel(tx, accountId, channelId);
    const isOne = sql`${deliveries.id} = any(${arrayOf('uuid', ids)})`;
    return tx
      .update(deliveries)
      .set(AFRESH)
      .where(and(isOne, isUndelivered(channelId, range), isIdle))
      .returning({ id: deliveries.id });
  });
  const released = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => released.has(id));
}

function isUndelivered(channelId: string, range: { since: Date; until: Date }): SQL | undefined {
  return and(
    eq(deliveries.channelId, channelId),
    eq(deliveries.test, false),
    inArray(deliveries.state, ['held', 'failed', 'pending']),
    gte(deliveries.timestamp, range.since),
    lt(deliveries.timestamp, range.until),
  );
}

/** Nobody disables the channel, and no second redelivery of its deliveries runs, until the transaction ends. */
async function lockEnabledChannel(tx: Transaction, accountId: string, id: string): Promise<void> {
  const { enabled } = await lockChannelRow(tx, accountId, id);
  if (!enabled) throw new AppError('conflict', 'This channel is disabled: enable it first.');
}
