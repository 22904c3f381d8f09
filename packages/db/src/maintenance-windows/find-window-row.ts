import { AppError } from '@tocsin/contracts/errors';
import { and, eq } from 'drizzle-orm';
import type { Queryable, Transaction } from '../database/open.ts';
import { maintenanceWindows, type MaintenanceWindowRow } from './table.ts';

/** An error that says the same for an unknown window and for another account's. */
export function maintenanceWindowNotFound(): AppError {
  return new AppError('not_found', 'There is no maintenance window with this id.');
}

/** The account's window with this id. @throws AppError not_found */
export async function findWindowRow(
  db: Queryable,
  accountId: string,
  id: string,
): Promise<MaintenanceWindowRow> {
  const [row] = await db
    .select()
    .from(maintenanceWindows)
    .where(and(eq(maintenanceWindows.id, id), eq(maintenanceWindows.accountId, accountId)));
  if (!row) throw maintenanceWindowNotFound();
  return row;
}

/** The same, locked until the transaction ends: the clock leaves it alone meanwhile. */
export async function lockWindowRow(
  tx: Transaction,
  accountId: string,
  id: string,
): Promise<MaintenanceWindowRow> {
  const [row] = await tx
    .select()
    .from(maintenanceWindows)
    .where(and(eq(maintenanceWindows.id, id), eq(maintenanceWindows.accountId, accountId)))
    .for('update');
  if (!row) throw maintenanceWindowNotFound();
  return row;
}
