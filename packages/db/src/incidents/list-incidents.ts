import type { Incident, IncidentsQuery } from '@tocsin/contracts/incident';
import { and, desc, eq, isNotNull, isNull, sql, type SQL } from 'drizzle-orm';
import { unknownCursor } from '../database/cursor.ts';
import type { Database } from '../database/open.ts';
import { monitors } from '../monitors/table.ts';
import { incidents } from './table.ts';
import { incidentColumns, toIncident } from './to-incident.ts';

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
