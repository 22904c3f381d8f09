import { AppError } from '@tocsin/contracts/errors';
import { and, eq, inArray, sql, type SQL } from 'drizzle-orm';
import type { Queryable, Transaction } from '../database/open.ts';
import { monitors } from '../monitors/table.ts';
import { channels } from './table.ts';

/** The ids of a channel's monitors, in the order of their creation. */
export const monitorIdsOfChannel: SQL<string[]> = sql<string[]>`array(
  select a.monitor_id::text from channel_monitors a where a.channel_id = ${channels}.id order by a.monitor_id)`;

/** Which of these ids are not those of monitors of the account. */
export async function findForeignMonitors(
  db: Queryable,
  accountId: string,
  monitorIds: readonly string[],
): Promise<string[]> {
  if (monitorIds.length === 0) return [];
  const owned = await db.select({ id: monitors.id }).from(monitors).where(isOwned(accountId, monitorIds));
  return without(monitorIds, owned);
}

/**
 * Keeps these monitors from being deleted until the transaction ends.
 * @throws AppError validation_failed where the account does not have all of them
 */
export async function holdMonitors(
  tx: Transaction,
  accountId: string,
  monitorIds: readonly string[],
): Promise<void> {
  if (monitorIds.length === 0) return;
  const owned = await tx
    .select({ id: monitors.id })
    .from(monitors)
    .where(isOwned(accountId, monitorIds))
    .orderBy(monitors.id)
    .for('key share');
  const foreign = without(monitorIds, owned);
  if (foreign.length === 0) return;
  throw new AppError('validation_failed', 'These fields are not valid: monitorIds.', {
    errors: foreign.map((id) => ({
      path: `monitorIds.${monitorIds.indexOf(id)}`,
      message: 'is not a monitor of this account',
    })),
  });
}

function isOwned(accountId: string, monitorIds: readonly string[]): SQL | undefined {
  return and(eq(monitors.accountId, accountId), inArray(monitors.id, [...monitorIds]));
}

function without(monitorIds: readonly string[], owned: readonly { id: string }[]): string[] {
  const known = new Set(owned.map(({ id }) => id));
  return monitorIds.filter((id) => !known.has(id));
}
