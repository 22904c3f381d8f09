import { MAX_HELD_COUNT } from '@tocsin/contracts/deliveries/delivery';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { z } from 'zod';
import { forEachChannel } from '../channels/each-channel.ts';
import type { Actor } from '../audit-log/actor.ts';
import { lockChannel } from '../channels/read-channels.ts';
import { channels } from '../channels/table.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { epochMs, queryOne } from '../database/sql.ts';
import { channelIf } from './table.ts';

/** Deliveries per statement, which then ends long before its timeout. */
const MAX_BATCH_SIZE = 1_000;

/**
 * Holds up to a thousand deliveries of a locked, disabled channel, except test events, and returns how many. A running attempt still counts
 * if it succeeds. Locks deliveries in id order, as recording attempts does, so that the two do not deadlock.
 */
export async function holdPendingDeliveries(tx: Transaction, channelId: string): Promise<number> {
  const { rowCount } = await tx.execute(sql`
    update deliveries set state = 'held', next_attempt_at = null, leased_until = null, lease_token = null
    where id = any(array(
      select id from deliveries
      where state = 'pending' and id = any(array(
        select id from deliveries where ${channelIf('pending')} = ${channelId} and not test limit ${MAX_BATCH_SIZE}))
      order by id for update))`);
  return rowCount ?? 0;
}

/** Holds the pending deliveries of all disabled channels. @param signal stops after the current transaction @throws as `forEachChannel` */
export async function holdForDisabledChannels(db: Database, signal?: AbortSignal): Promise<void> {
  const hasToHold = sql`not enabled and deleted_at is null
    and exists (select from deliveries where ${channelIf('pending')} = channels.id and not test)`;
  await forEachChannel(db, hasToHold, (id) => holdAllIfDisabled(db, id, signal), signal);
}

/** Reports whether a channel has deliveries that are neither finished nor held. */
export async function hasPendingDeliveries(db: Queryable, channelId: string): Promise<boolean> {
  const { rowCount } = await db.execute(
    sql`select from deliveries where ${channelIf('pending')} = ${channelId} and not test limit 1`,
  );
  return rowCount === 1;
}

/** Holds all pending deliveries of a channel if it is disabled, a thousand per transaction. @param signal stops after the current one */
export async function holdAllIfDisabled(
  db: Database,
  channelId: string,
  signal?: AbortSignal,
): Promise<void> {
  const isDisabled = and(eq(channels.id, channelId), eq(channels.enabled, false), isNull(channels.deletedAt));
  for (;;) {
    const count = await db.transaction(async (tx) => {
      const locked = await tx.select().from(channels).where(isDisabled).for('no key update');
      return locked.length === 0 ? 0 : holdPendingDeliveries(tx, channelId);
    });
    if (count === 0 || signal?.aborted === true) return;
  }
}

const heldCount = z.object({
  count: z.number(),
  since: z
    .number()
    .nullable()
    .transform((time) => (time === null ? null : new Date(time).toISOString())),
});

/** Counts the deliveries that a channel holds, up to a bound, with the first timestamp of these. @param channelId a channel of the caller's account */
export async function readHeldDeliveries(
  db: Database,
  channelId: string,
): Promise<z.output<typeof heldCount>> {
  return queryOne(db, heldCount)`
    select count(*)::int as count, ${epochMs(sql`min(timestamp)`)} as since from (
      select timestamp from deliveries where channel_id = ${channelId} and state = 'held' limit ${MAX_HELD_COUNT}) h`;
}

/** Marks the held deliveries of a channel as failed, a thousand per transaction. `more` is false after the last one. @throws AppError not_found, source_not_allowed */
export async function* discardHeldDeliveries(
  db: Database,
  actor: Actor,
  channelId: string,
): AsyncGenerator<{ readonly count: number; readonly more: boolean }, void, undefined> {
  let more: boolean;
  do {
    const count = await db.transaction(async (tx) => {
      await lockChannel(tx, actor, channelId);
      const { rowCount } = await tx.execute(sql`
        update deliveries set state = 'failed'
        where id = any(array(
          select id from deliveries
          where state = 'held' and id = any(array(
            select id from deliveries where channel_id = ${channelId} and state = 'held' limit ${MAX_BATCH_SIZE}))
          order by id for update))`);
      return rowCount ?? 0;
    });
    more = count === MAX_BATCH_SIZE;
    yield { count, more };
  } while (more);
}
