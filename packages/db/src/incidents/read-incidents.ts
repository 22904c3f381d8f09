import type { Incident, IncidentsQuery } from '@tocsin/contracts/incidents/incident';
import type { IncidentNote } from '@tocsin/contracts/incidents/timeline';
import { and, asc, desc, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import { requireFound } from '../database/errors.ts';
import type { Database, Queryable } from '../database/open.ts';
import { pageAfter } from '../database/page.ts';
import { epochMs, timestamptz, toWire } from '../database/sql.ts';
import { monitors } from '../monitors/table.ts';
import { silentTime } from '../silences/silences.ts';
import { incidentNotes, incidents } from './table.ts';

const endsAt = sql`coalesce(${incidents.resolvedAt}, clock_timestamp())`;
const unknownTime = silentTime({
  monitorId: sql`${incidents.monitorId}`,
  from: sql`${incidents.openedAt}`,
  to: endsAt,
  now: sql`now()`,
});

/** Columns of the wire record. An open incident lasts until now by PostgreSQL's clock. */
const wireColumns = {
  id: incidents.id,
  monitorId: incidents.monitorId,
  monitorName: monitors.name,
  openedAt: incidents.openedAt,
  resolvedAt: incidents.resolvedAt,
  durationSeconds: sql<number>`greatest(0,
    floor(extract(epoch from ${endsAt} - ${incidents.openedAt}
      - ${unknownTime})))::float8`,
  cause: incidents.cause,
  errorDetail: incidents.errorDetail,
  region: incidents.region,
  acknowledgedAt: incidents.acknowledgedAt,
  acknowledgedBy: sql<Incident['acknowledgedBy']>`case when ${incidents.acknowledgedAt} is not null then
    jsonb_build_object('id', ${incidents.acknowledgedById}, 'name', ${incidents.acknowledgedByName}) end`,
};

/** @throws AppError not_found */
export async function getIncident(db: Queryable, accountId: string, id: string): Promise<Incident> {
  const rows = await db
    .select(wireColumns)
    .from(incidents)
    .innerJoin(monitors, eq(monitors.id, incidents.monitorId))
    .where(and(eq(incidents.id, id), eq(incidents.accountId, accountId)));
  return toWire(requireFound(rows, 'incident'));
}

/** Lists a page of the account's incidents, latest first. @throws AppError validation_failed if the account has no incident `before` */
export async function listIncidents(
  db: Database,
  accountId: string,
  { state, monitorId, limit, before }: IncidentsQuery,
): Promise<Incident[]> {
  const ofAccount = eq(incidents.accountId, accountId);
  const hasState =
    state && (state === 'open' ? isNull(incidents.resolvedAt) : isNotNull(incidents.resolvedAt));
  const isOfMonitor = monitorId === undefined ? undefined : eq(incidents.monitorId, monitorId);
  // Incidents of deleted monitors are not listed.
  const scope = and(ofAccount, sql`exists (select from monitors m where m.id = ${incidents.monitorId})`);
  const message = 'is not an incident of this account';
  const list = { table: incidents, time: incidents.openedAt, id: incidents.id, scope, message };
  const rows = await db
    .select(wireColumns)
    .from(incidents)
    .innerJoin(monitors, eq(monitors.id, incidents.monitorId))
    .where(and(ofAccount, hasState, isOfMonitor, await pageAfter(db, list, before)))
    .orderBy(desc(incidents.openedAt), desc(incidents.id))
    .limit(limit);
  return rows.map(toWire);
}

/** An incident with a new acknowledgement or note. */
export interface IncidentActivity {
  readonly incident: Incident;
  /** Epoch milliseconds, strictly increasing for an incident. */
  readonly activityAt: number;
}

/** Lists the account's first `limit` incidents that people changed after a time (epoch milliseconds), in order. */
export async function listIncidentActivity(
  db: Database,
  accountId: string,
  after: number,
  limit: number,
): Promise<IncidentActivity[]> {
  const rows = await db
    .select({ incident: wireColumns, activityAt: epochMs(incidents.activityAt) })
    .from(incidents)
    .innerJoin(monitors, eq(monitors.id, incidents.monitorId))
    .where(and(eq(incidents.accountId, accountId), sql`${incidents.activityAt} > ${timestamptz(after)}`))
    .orderBy(asc(incidents.activityAt))
    .limit(limit);
  return rows.map(({ incident, activityAt }) => ({ incident: toWire(incident), activityAt }));
}

/** Lists an incident's notes, oldest first. The caller has checked that the incident belongs to the account. */
export async function listNotes(db: Database, incidentId: string): Promise<IncidentNote[]> {
  const ofIncident = eq(incidentNotes.incidentId, incidentId);
  const inOrder = [asc(incidentNotes.createdAt), asc(incidentNotes.id)];
  const rows = await db
    .select()
    .from(incidentNotes)
    .where(ofIncident)
    .orderBy(...inOrder);
  return rows.map(toNote);
}

export function toNote(row: typeof incidentNotes.$inferSelect): IncidentNote {
  const { id, text, authorId, authorName, createdAt, editedAt } = row;
  return { ...toWire({ id, text, createdAt, editedAt }), author: { id: authorId, name: authorName } };
}
