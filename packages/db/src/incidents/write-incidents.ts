import { AppError } from '@tocsin/contracts/errors';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { IncidentNote } from '@tocsin/contracts/incidents/timeline';
import { LIMITS } from '@tocsin/contracts/limits';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { and, eq, sql } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import { requireFound } from '../database/errors.ts';
import type { Database, Transaction } from '../database/open.ts';
import { clockNow, firstOf } from '../database/sql.ts';
import { monitors } from '../monitors/table.ts';
import { getIncident, toNote } from './read-incidents.ts';
import { incidentNotes, incidents } from './table.ts';

export interface Author extends Actor {
  readonly id: string;
  readonly role: UserRole;
}

/** @throws AppError not_found */
async function lockIncident(tx: Transaction, accountId: string, id: string) {
  const rows = await tx
    .select({
      monitorName: monitors.name,
      resolvedAt: incidents.resolvedAt,
      acknowledgedAt: incidents.acknowledgedAt,
      acknowledgedById: incidents.acknowledgedById,
      acknowledgedByName: incidents.acknowledgedByName,
    })
    .from(incidents)
    .innerJoin(monitors, eq(monitors.id, incidents.monitorId))
    .where(and(eq(incidents.id, id), eq(incidents.accountId, accountId)))
    .for('update', { of: incidents });
  return requireFound(rows, 'incident');
}

type Acknowledgement = Partial<
  Pick<typeof incidents.$inferInsert, 'acknowledgedById' | 'acknowledgedByName'>
> & { readonly acknowledgedAt?: typeof clockNow | null };

/** Stamps the incident, so that live streams send it again. */
async function stampActivity(tx: Transaction, id: string, change: Acknowledgement = {}): Promise<void> {
  const activityAt = sql`greatest(${clockNow}, ${incidents.activityAt} + interval '1 millisecond')`;
  await tx
    .update(incidents)
    .set({ ...change, activityAt })
    .where(eq(incidents.id, id));
}

/** Acknowledges an open incident for a user. @throws AppError not_found, or conflict if it is resolved or another user has acknowledged it */
export function acknowledgeIncident(db: Database, user: Author, id: string): Promise<Incident> {
  return db.transaction(async (tx) => {
    const incident = await lockIncident(tx, user.accountId, id);
    const { acknowledgedAt, acknowledgedById, acknowledgedByName: name } = incident;
    if (acknowledgedAt === null) {
      requireOpen(incident, 'can no longer be acknowledged');
      const by = { acknowledgedById: user.id, acknowledgedByName: user.name };
      await stampActivity(tx, id, { acknowledgedAt: clockNow, ...by });
      await recordChange(tx, user, 'acknowledged', id, incident);
    } else if (acknowledgedById !== user.id) {
      const since = acknowledgedAt.toISOString();
      throw new AppError(
        'conflict',
        `${name ?? ''} acknowledged this incident at ${since}. To take over, remove that acknowledgement first.`,
      );
    }
    return getIncident(tx, user.accountId, id);
  });
}

/** Removes an acknowledgement by any user, if there is one. @throws AppError not_found, or conflict if the incident is resolved */
export function unacknowledgeIncident(db: Database, user: Author, id: string): Promise<Incident> {
  return db.transaction(async (tx) => {
    const incident = await lockIncident(tx, user.accountId, id);
    if (incident.acknowledgedAt !== null) {
      requireOpen(incident, 'keeps its acknowledgement');
      await stampActivity(tx, id, { acknowledgedAt: null, acknowledgedById: null, acknowledgedByName: null });
      await recordChange(tx, user, 'acknowledgementRemoved', id, incident);
    }
    return getIncident(tx, user.accountId, id);
  });
}

/** The incident's timeline reads these entries, because the incident itself has only the current acknowledgement. */
function recordChange(
  tx: Transaction,
  user: Author,
  what: 'acknowledged' | 'acknowledgementRemoved',
  id: string,
  {
    monitorName,
    acknowledgedByName,
  }: { readonly monitorName: string; readonly acknowledgedByName: string | null },
): Promise<void> {
  const target = { type: 'incident', id, name: monitorName } as const;
  const to = what === 'acknowledged' ? user.name : null;
  const changes = [{ field: 'acknowledgedBy', from: acknowledgedByName, to }];
  return recordAudit(tx, user, [{ action: `incident.${what}`, target, changes }]);
}

function requireOpen({ resolvedAt }: { readonly resolvedAt: Date | null }, consequence: string): void {
  if (resolvedAt === null) return;
  throw new AppError(
    'conflict',
    `This incident was resolved at ${resolvedAt.toISOString()}, so it ${consequence}.`,
  );
}

/** @throws AppError not_found, conflict if the incident has too many notes */
export function createNote(
  db: Database,
  author: Author,
  incidentId: string,
  text: string,
): Promise<IncidentNote> {
  return db.transaction(async (tx) => {
    await lockIncident(tx, author.accountId, incidentId);
    const count = await tx.$count(incidentNotes, eq(incidentNotes.incidentId, incidentId));
    if (count >= LIMITS.notesPerIncident)
      throw new AppError(
        'conflict',
        `An incident can have at most ${LIMITS.notesPerIncident} notes. Edit or delete one of them.`,
      );
    const row = { incidentId, authorId: author.id, authorName: author.name, text };
    const note = firstOf(await tx.insert(incidentNotes).values(row).returning());
    await stampActivity(tx, incidentId);
    return toNote(note);
  });
}

/** @throws AppError not_found, author_required for another user's note */
export function updateNote(
  db: Database,
  user: Author,
  incidentId: string,
  noteId: string,
  text: string,
): Promise<IncidentNote> {
  return db.transaction(async (tx) => {
    const isNote = await lockNote(tx, user, incidentId, noteId, false);
    const change = { text, editedAt: clockNow };
    const note = firstOf(await tx.update(incidentNotes).set(change).where(isNote).returning());
    await stampActivity(tx, incidentId);
    return toNote(note);
  });
}

/** @throws AppError not_found, author_required for another user's note unless the user is an owner */
export async function deleteNote(
  db: Database,
  user: Author,
  incidentId: string,
  noteId: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const isNote = await lockNote(tx, user, incidentId, noteId, user.role === 'owner');
    await tx.delete(incidentNotes).where(isNote);
    await stampActivity(tx, incidentId);
  });
}

/** Locks the incident, which serializes changes to its notes. @returns the condition for the note's row */
async function lockNote(
  tx: Transaction,
  user: Author,
  incidentId: string,
  noteId: string,
  mayBeOthers: boolean,
) {
  await lockIncident(tx, user.accountId, incidentId);
  const isNote = and(eq(incidentNotes.id, noteId), eq(incidentNotes.incidentId, incidentId));
  const { authorId, authorName } = requireFound(await tx.select().from(incidentNotes).where(isNote), 'note');
  if (authorId !== user.id && !mayBeOthers)
    throw new AppError(
      'author_required',
      `${authorName} wrote this note. Only its author may edit it; its author and owners of the account may delete it.`,
    );
  return isNote;
}
