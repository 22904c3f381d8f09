import type { FieldError } from '@tocsin/contracts/errors';
import { and, eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import { requireFound } from '../database/errors.ts';
import type { Queryable } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { arrayOf, buildOnce, query, queryColumn } from '../database/sql.ts';
import { type MonitorRow, monitors } from './table.ts';

const selectMonitor = buildOnce<MonitorRow[]>((db) => {
  const isThis = sql`${PREPARE} ${monitors.id} = ${sql.placeholder('id')} and ${monitors.accountId} = ${sql.placeholder('accountId')}`;
  return db.select().from(monitors).where(isThis);
});

/** Finds a monitor. @param lock orders everything that happens to a monitor @throws AppError not_found */
export async function findMonitorRow(
  db: Queryable,
  accountId: string,
  id: string,
  lock?: 'update' | 'no key update',
): Promise<MonitorRow> {
  if (lock === undefined) return requireFound(await selectMonitor(db, { accountId, id }), 'monitor');
  const isThis = and(eq(monitors.id, id), eq(monitors.accountId, accountId));
  return requireFound(await db.select().from(monitors).where(isThis).for(lock), 'monitor');
}

/** Returns the version of a monitor's fields. It contains the time, so that a monitor restored from a backup never reuses a version. */
export function versionOf({ revision, updatedAt }: Pick<MonitorRow, 'revision' | 'updatedAt'>): string {
  return `${revision}-${updatedAt.getTime()}`;
}

/** Returns the ids that belong to no monitor of the account. */
export async function findUnknownMonitors(
  db: Queryable,
  accountId: string,
  monitorIds: readonly string[],
): Promise<string[]> {
  if (monitorIds.length === 0) return [];
  const known = new Set(
    await queryColumn(db)`
      select id from monitors where account_id = ${accountId} and id = any(${arrayOf('uuid', monitorIds)})`,
  );
  return monitorIds.filter((id) => !known.has(id));
}

const keyedMonitor = z.object({ id: z.string(), externalId: z.string() });

/** Returns the ids of the account's monitors with these externalIds, by externalId. */
export async function findByExternalIds(
  db: Queryable,
  accountId: string,
  externalIds: readonly string[],
): Promise<Map<string, string>> {
  if (externalIds.length === 0) return new Map();
  const rows = await query(db, keyedMonitor)`
    select id, external_id from monitors
    where account_id = ${accountId} and external_id = any(${arrayOf('text', externalIds)})`;
  return new Map(rows.map(({ id, externalId }) => [externalId, id]));
}

const uuid = z.uuid();

/** Returns the errors of unknown monitors in the field `monitorIds`. Ignores malformed ids. */
export async function validateMonitorIds(
  db: Queryable,
  accountId: string,
  monitorIds: unknown,
): Promise<FieldError[]> {
  if (!Array.isArray(monitorIds)) return [];
  const ids = monitorIds.map((id: unknown) => uuid.safeParse(id).data?.toLowerCase());
  const wellFormed = ids.filter((id) => id !== undefined);
  const unknown = new Set<unknown>(await findUnknownMonitors(db, accountId, wellFormed));
  const message = 'is not a monitor of this account';
  return ids.flatMap((id, index) =>
    unknown.has(id) ? [{ path: `monitorIds.${index}`, code: 'not_found', message }] : [],
  );
}
