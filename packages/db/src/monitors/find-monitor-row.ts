import { AppError } from '@tocsin/contracts/errors';
import { and, eq } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { monitors, type MonitorRow } from './table.ts';

/** An error that says the same for an unknown monitor and for another account's. */
export function monitorNotFound(): AppError {
  return new AppError('not_found', 'There is no monitor with this id.');
}

/** The account's monitor with this id. @throws AppError not_found */
export async function findMonitorRow(db: Queryable, accountId: string, id: string): Promise<MonitorRow> {
  const [row] = await db
    .select()
    .from(monitors)
    .where(and(eq(monitors.id, id), eq(monitors.accountId, accountId)));
  if (!row) throw monitorNotFound();
  return row;
}

/** The same, locked until the transaction ends: what happens to a monitor happens in the order of this lock. */
export async function lockMonitorRow(
  tx: Queryable,
  accountId: string,
  id: string,
  strength: 'update' | 'no key update',
): Promise<MonitorRow> {
  const [row] = await tx
    .select()
    .from(monitors)
    .where(and(eq(monitors.id, id), eq(monitors.accountId, accountId)))
    .for(strength);
  if (!row) throw monitorNotFound();
  return row;
}
