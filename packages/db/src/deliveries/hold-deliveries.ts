import { and, eq, isNull, sql } from 'drizzle-orm';
import { channels } from '../channels/table.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { channelIf } from './table.ts';

/** Deliveries that one statement holds: it ends long before its timeout, however long the backlog of the channel is. */
const HELD_AT_ONCE = 1_000;

/**
 * Holds what a disabled channel still had to send: it stays visible and is released by redelivery. Of a longer backlog it holds
 * a part, and `holdForDisabledChannels` holds the rest; a disabled channel sends nothing meanwhile. An attempt under way still
 * counts if it succeeds. Test events are sent to disabled channels too. The transaction holds the lock of the channel.
 * @returns how many were held; 0: nothing is left
 */
export async function holdPendingDeliveries(tx: Transaction, channelId: string): Promise<number> {
  const { rowCount } = await tx.execute(sql`
    update deliveries set state = 'held', next_attempt_at = null, leased_until = null, lease_token = null
    where id = any(array(
      select id from deliveries where ${channelIf('pending')} = ${channelId} and not test limit ${HELD_AT_ONCE} for update))`);
  return rowCount ?? 0;
}

/**
 * Holds what the other disabled channels still had to send, in one transaction for each thousand. A channel that fails does not stop
 * the others.
 * @param signal ends it after the current transaction; the next call continues
 * @throws AggregateError of the channels that failed
 */
export async function holdForDisabledChannels(db: Database, signal?: AbortSignal): Promise<void> {
  const { rows } = await db.execute<{ id: string }>(sql`
    select c.id from channels c where not c.enabled and c.deleted_at is null
      and exists (select from deliveries where ${channelIf('pending')} = c.id and not test)`);
  const failures: unknown[] = [];
  for (const { id } of rows) {
    await holdAllIfDisabled(db, id, signal).catch((error: unknown) => failures.push(error));
    if (signal?.aborted === true) break;
  }
  if (failures.length > 0) {
    throw new AggregateError(failures, `Channels whose deliveries could not be held: ${failures.length}`);
  }
}

/** Whether anything of a channel is neither sent nor held. */
export async function hasPendingDeliveries(db: Queryable, channelId: string): Promise<boolean> {
  const { rowCount } = await db.execute(
    sql`select from deliveries where ${channelIf('pending')} = ${channelId} and not test limit 1`,
  );
  return rowCount === 1;
}

/**
 * Holds what a disabled channel still had to send, in one transaction for each thousand; nothing where the channel is enabled.
 * @param signal ends it after the current transaction; the next call continues
 */
export async function holdAllIfDisabled(
  db: Database,
  channelId: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (;;) {
    const held = await holdIfDisabled(db, channelId);
    if (held === 0 || signal?.aborted === true) return;
  }
}

async function holdIfDisabled(db: Database, channelId: string): Promise<number> {
  return db.transaction(async (tx) => {
    const isDisabled = and(
      eq(channels.id, channelId),
      eq(channels.enabled, false),
      isNull(channels.deletedAt),
    );
    const locked = await tx.select({ id: channels.id }).from(channels).where(isDisabled).for('no key update');
    return locked.length === 0 ? 0 : holdPendingDeliveries(tx, channelId);
  });
}
