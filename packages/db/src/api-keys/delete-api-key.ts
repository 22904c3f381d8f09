import { AppError } from '@tocsin/contracts/errors';
import { and, eq, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import type { Database, Transaction } from '../database/open.ts';
import { apiKeys, apiKeyTombstones } from './table.ts';

/** An error that says the same for an unknown key and for another account's. */
export function apiKeyNotFound(): AppError {
  return new AppError('not_found', 'There is no API key with this id.');
}

/**
 * Deletes a key at once and for good; its hash stays as a tombstone (design §2).
 * @throws AppError not_found
 */
export async function deleteApiKey(db: Database, accountId: string, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const deleted = await deleteKeys(tx, and(eq(apiKeys.id, id), eq(apiKeys.accountId, accountId)));
    if (deleted === 0) throw apiKeyNotFound();
  });
}

/** The same for all keys that a user created. Belongs into the transaction that removes the user, behind that. */
export async function deleteApiKeysOf(tx: Transaction, userId: string): Promise<void> {
  await deleteKeys(tx, eq(apiKeys.createdBy, userId));
}

/** @returns how many */
async function deleteKeys(tx: Transaction, areMeant: SQL | undefined): Promise<number> {
  // Taken first, since making sure of a key takes the two in this order.
  await tx.execute(sql`lock table ${apiKeyTombstones} in row exclusive mode`);
  const deleted = await tx.delete(apiKeys).where(areMeant).returning({ hash: apiKeys.hash });
  if (deleted.length > 0) await tx.insert(apiKeyTombstones).values(deleted).onConflictDoNothing();
  return deleted.length;
}
