import { AppError } from '@tocsin/contracts/errors';
import { and, eq, isNull } from 'drizzle-orm';
import type { Queryable, Transaction } from '../database/open.ts';
import { channels, type ChannelRow } from './table.ts';

/** An error that says the same for an unknown channel and for another account's. */
export function channelNotFound(): AppError {
  return new AppError('not_found', 'There is no channel with this id.');
}

/** The account's channel with this id. @throws AppError not_found */
export async function findChannelRow(db: Queryable, accountId: string, id: string): Promise<ChannelRow> {
  const [row] = await db.select().from(channels).where(isChannel(accountId, id));
  if (!row) throw channelNotFound();
  return row;
}

/**
 * The same, locked until the transaction ends. Whoever changes a channel and its deliveries locks the channel first, so that
 * two transactions never wait for each other crosswise.
 */
export async function lockChannelRow(tx: Transaction, accountId: string, id: string): Promise<ChannelRow> {
  const [row] = await tx.select().from(channels).where(isChannel(accountId, id)).for('no key update');
  if (!row) throw channelNotFound();
  return row;
}

/** One that was deleted is there for nobody. */
export function isChannel(accountId: string, id: string): ReturnType<typeof and> {
  return and(eq(channels.id, id), eq(channels.accountId, accountId), isNull(channels.deletedAt));
}
