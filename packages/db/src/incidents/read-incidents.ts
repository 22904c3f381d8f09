import { AppError } from '@tocsin/contracts/errors';
import type { Incident, IncidentsQuery } from '@tocsin/contracts/incidents/incident';
import { and, desc, eq, getTableColumns, isNotNull, isNull, sql, type SQL } from 'drizzle-orm';
import { unknownCursor } from '../database/errors.ts';
import type { Database } from '../database/open.ts';
import { monitors } from '../monitors/table.ts';
import { incidents } from './table.ts';

/** What a query of incidents joined with their monitors selects; an open one lasts until now by Postgres' clock. */
const incidentColumns = {
  ...getTableColumns(incidents),
  monitorName: monitors.name,
  durationSeconds: sql<number>`greatest(0,
    floor(extract(epoch from coalesce(${incidents.resolvedAt}, clock_timestamp()) - ${incidents.openedAt})))::float8`,
};

type IncidentRow = typeof incidents.$inferSelect & { monitorName: string; durationSeconds: number };

/** The wire record of an incident. */
function toIncident(row: IncidentRow): Incident {
  return {
    id: row.id,
    monitorId: row.monitorId,
    monitorName: row.monitorName,
    openedAt: row.openedAt.toISOString(),
    resolvedAt: row.resolvedAt?.toISOString() ?? null,
    durationSeconds: row.durationSeconds,
    cause: row.cause,
    region: row.region,
  };
}

/** One incident of the account. @throws AppError not_found */
export async function getIncident(db: Database, accountId: string, id: string): Promise<Incident> {
  const [row] = await db
    .select(incidentColumns)
    .from(incidents)
    .innerJoin(monitors, eq(monitors.id, incidents.monitorId))
    .where(and(eq(incidents.id, id), eq(incidents.accountId, accountId)));
  if (!row) throw incidentNotFound();
  return toIncident(row);
}

/** An error that says the same for an unknown incident and for another account's. */
export function incidentNotFound(): AppError {
  return new AppError('not_found', 'There is no incident with this id.');
}

/**
 * A page of the account's incidents, latest first: those opened before the incident `before`, or the latest.
 * @throws AppError validation_failed where `before` is no incident of the account
 */
export async function listIncidents(
  db: Database,
  accountId: string,
  { state, monitorId, limit, before }: IncidentsQuery,
): Promise<Incident[]> {
  const rows = await db
    .select(incidentColumns)
    .from(incidents)
    .innerJoin(monitors, eq(monitors.id, incidents.monitorId))
    .where(
      and(
        eq(incidents.accountId, accountId),
        state && (state === 'open' ? isNull(incidents.resolvedAt) : isNotNull(incidents.resolvedAt)),
        monitorId === undefined ? undefined : eq(incidents.monitorId, monitorId),
        before === undefined ? undefined : await isBefore(db, accountId, before),
      ),
    )
    .orderBy(desc(incidents.openedAt), desc(incidents.id))
    .limit(limit);
  return rows.map(toIncident);
}

async function isBefore(db: Database, accountId: string, id: string): Promise<SQL> {
  const [cursor] = await db
    .select({ openedAt: incidents.openedAt })
    .from(incidents)
    .innerJoin(monitors, eq(monitors.id, incidents.monitorId))
    .where(and(eq(incidents.id, id), eq(incidents.accountId, accountId)));
  if (!cursor) throw unknownCursor('is not an incident of this account');
  return sql`(${incidents.openedAt}, ${incidents.id}) < (${cursor.openedAt.toISOString()}::timestamptz, ${id}::uuid)`;
}
