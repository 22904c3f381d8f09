import { AppError } from '@tocsin/contracts/errors';
import type { Incident } from '@tocsin/contracts/incident';
import { and, eq } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { monitors } from '../monitors/table.ts';
import { incidents } from './table.ts';
import { incidentColumns, toIncident } from './to-incident.ts';

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
