import {
  type Delivery,
  type RedeliveryScope,
  UNDELIVERED_STATES,
} from '@tocsin/contracts/deliveries/delivery';
import { AppError } from '@tocsin/contracts/errors';
import { and, asc, eq, gte, inArray, isNull, lt, lte, or, sql } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import { lockChannel } from '../channels/read-channels.ts';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf, clockNow } from '../database/sql.ts';
import { findDeliveryRow, toDelivery } from './read-deliveries.ts';
import { deliveries } from './table.ts';

/** Deliveries per transaction, which then ends long before its timeout and locks the channel only briefly. */
const MAX_BATCH_SIZE = 1_000;
/** Deliveries that one call reads. The next call reads the rest. */
const MAX_READ = 50_000;

/** Columns that restart the retry schedule. Attempts keep their numbers. */
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
 * Makes a delivery due again, regardless of its state.
 * @throws AppError not_found, source_not_allowed, conflict if its channel is disabled, or an attempt is running
 */
export async function redeliver(db: Database, actor: Actor, id: string): Promise<Delivery> {
  return db.transaction(async (tx) => {
    const { channelId } = await findDeliveryRow(tx, actor.accountId, id);
    await lockEnabledChannel(tx, actor, channelId);
    const isThis = and(eq(deliveries.id, id), isIdle);
    // A reminder that is sent on request must not be withdrawn.
    const [row] = await tx
      .update(deliveries)
      .set({ ...AFRESH, reminder: false })
      .where(isThis)
      .returning();
    if (row) return toDelivery(row);
    throw new AppError('conflict', 'This delivery is being attempted. Wait for the outcome first.');
  });
}

interface Released {
  /** Ids, oldest event first. */
  readonly ids: readonly string[];
  /** Number of deliveries that later transactions release, without those that already wait for their first attempt. */
  readonly remaining: number;
}

/**
 * Makes a channel's undelivered deliveries due again, except test events and running attempts. Takes those in the given states with a
 * timestamp from `since` to `until` (exclusive), oldest first, a thousand per transaction. Deliveries that wait for their first attempt
 * anyway come last, so the next call continues where this one stopped.
 * @returns what each transaction released, once it has committed. There is at least one
 * @throws AppError not_found, source_not_allowed, conflict if the channel is disabled
 */
export async function* redeliverUndelivered(
  db: Database,
  actor: Actor,
  channelId: string,
  { since, until, states = UNDELIVERED_STATES }: RedeliveryScope,
  maxRead: number = MAX_READ,
): AsyncGenerator<Released, void, undefined> {
  const isUndelivered = and(
    eq(deliveries.channelId, channelId),
    eq(deliveries.test, false),
    inArray(deliveries.state, [...states]),
    gte(deliveries.timestamp, since),
    lt(deliveries.timestamp, until),
  );
  const waitsForFirst = sql<boolean>`${deliveries.state} = 'pending' and ${deliveries.roundAttemptCount} = 0`;
  const found = await db
    .select({ id: deliveries.id, waitsForFirst })
    .from(deliveries)
    .where(isUndelivered)
    .orderBy(asc(waitsForFirst), asc(deliveries.timestamp), asc(deliveries.id))
    // One more than needed shows whether there are others.
    .limit(maxRead + 1);
  const end = Math.min(found.length, maxRead);
  const needed = found.filter((delivery) => !delivery.waitsForFirst).length;
  let from = 0;
  do {
    const batch = found.slice(from, from + MAX_BATCH_SIZE).map(({ id }) => id);
    from += MAX_BATCH_SIZE;
    const rows = await db.transaction(async (tx) => {
      await lockEnabledChannel(tx, actor, channelId);
      const isOne = sql`${deliveries.id} = any(${arrayOf('uuid', batch)})`;
      const isReleased = and(isOne, isUndelivered, isIdle);
      return tx.update(deliveries).set(AFRESH).where(isReleased).returning({ id: deliveries.id });
    });
    // Others have been delivered in the meantime, or have a running attempt.
    const released = new Set(rows.map(({ id }) => id));
    yield { ids: batch.filter((id) => released.has(id)), remaining: Math.max(0, needed - from) };
  } while (from < end);
}

/** Keeps the channel enabled, and other redeliveries waiting, until the transaction ends. */
async function lockEnabledChannel(tx: Transaction, actor: Actor, id: string): Promise<void> {
  const { enabled } = await lockChannel(tx, actor, id);
  if (!enabled) throw new AppError('conflict', 'This channel is disabled. Enable it first.');
}
