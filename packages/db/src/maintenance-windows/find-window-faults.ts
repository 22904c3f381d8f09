import type { FieldError } from '@tocsin/contracts/errors';
import type { WindowSchedule } from '@tocsin/core/maintenance/occurrences';
import { windowProblems } from '@tocsin/core/maintenance/window-problems';
import { sql } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import type { Queryable } from '../database/open.ts';
import { readDatabaseClock } from './database-clock.ts';

/** What of a window is to be judged; a field that could not be read is left out. */
export interface WindowFields extends Partial<WindowSchedule> {
  readonly monitorIds?: readonly string[];
}

/**
 * What is wrong with a window beyond the form of its fields: its schedule, and monitors that are not the account's.
 * @param mayBePast whether all of it may be over
 */
export async function findWindowFaults(
  db: Queryable,
  accountId: string,
  fields: WindowFields,
  mayBePast = false,
): Promise<FieldError[]> {
  const now = await readDatabaseClock(db);
  return [
    ...windowProblems(fields, now, mayBePast),
    ...(await unknownMonitors(db, accountId, fields.monitorIds ?? [])),
  ];
}

async function unknownMonitors(
  db: Queryable,
  accountId: string,
  monitorIds: readonly string[],
): Promise<FieldError[]> {
  if (monitorIds.length === 0) return [];
  const { rows } = await db.execute<{ id: string }>(sql`
    select id from monitors where account_id = ${accountId} and id = any(${arrayOf('uuid', monitorIds)})`);
  const known = new Set(rows.map((row) => row.id));
  return monitorIds.flatMap((id, index) =>
    known.has(id) ? [] : [{ path: `monitorIds.${index}`, message: 'is no monitor of this account' }],
  );
}
