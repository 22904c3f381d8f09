import { AppError } from '@tocsin/contracts/errors';
import { and, eq } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { type MonitorRow, monitors } from './table.ts';

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

/**
 * What tells one state of a monitor's fields from every other: another one after each change that was asked for, and none after a
 * check. With the time, so that a monitor restored from a backup does not come back to a version that it had.
 */
export function versionOf({ revision, updatedAt }: Pick<MonitorRow, 'revision' | 'updatedAt'>): string {
  return `${revision}-${updatedAt.getTime().toString(36)}`;
}

/** @param versions those the caller knows; null: it asks for none. @throws AppError precondition_failed */
export function requireVersion(row: MonitorRow, versions: ReadonlySet<string> | null): void {
  if (versions === null || versions.has(versionOf(row))) return;
  throw new AppError(
    'precondition_failed',
    'The monitor is not as it was when you read it: read it again, and send If-Match with its ETag.',
  );
}
