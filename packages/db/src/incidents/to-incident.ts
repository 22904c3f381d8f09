import type { Incident } from '@tocsin/contracts/incident';
import { getTableColumns, sql } from 'drizzle-orm';
import { monitors } from '../monitors/table.ts';
import { incidents } from './table.ts';

/** What a query of incidents joined with their monitors selects; an open one lasts until now by Postgres' clock. */
export const incidentColumns = {
  ...getTableColumns(incidents),
  monitorName: monitors.name,
  durationSeconds: sql<number>`greatest(0,
    floor(extract(epoch from coalesce(${incidents.resolvedAt}, clock_timestamp()) - ${incidents.openedAt})))::float8`,
};

type IncidentRow = typeof incidents.$inferSelect & { monitorName: string; durationSeconds: number };

/** The wire record of an incident. */
export function toIncident(row: IncidentRow): Incident {
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
