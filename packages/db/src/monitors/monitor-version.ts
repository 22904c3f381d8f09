import { AppError } from '@tocsin/contracts/errors';
import type { MonitorRow } from './table.ts';

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
