import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { index, pgTable, uniqueIndex } from 'drizzle-orm/pg-core';
import { clockNow, instant, ownerId, primaryId } from '../database/sql.ts';
import { accountId } from '../users/table.ts';

/** Opened by DOWN, resolved by UP. Without a foreign key, because deleting a monitor must not delete its many incidents in one transaction. */
export const incidents = pgTable(
  'incidents',
  (t) => ({
    id: primaryId(),
    accountId: accountId(),
    monitorId: t.uuid('monitor_id').notNull(),
    openedAt: instant('opened_at').notNull(),
    resolvedAt: instant('resolved_at'),
    cause: t.text('cause').$type<ErrorReason>(),
    errorDetail: t.text('error_detail'),
    region: t.text('region').notNull(),
    /** The user who works on it, with the name at that time, which outlives the user. Null without an acknowledgement. */
    acknowledgedAt: instant('acknowledged_at'),
    acknowledgedById: t.uuid('acknowledged_by_id'),
    acknowledgedByName: t.text('acknowledged_by_name'),
    /** Last change of the acknowledgement or notes by a person, which live streams follow. Null if never. */
    activityAt: instant('activity_at'),
  }),
  (table) => [
    uniqueIndex('incidents_one_open_key')
      .on(table.monitorId)
      .where(sql`${table.resolvedAt} is null`),
    index('incidents_resolved_idx')
      .on(table.resolvedAt)
      .where(sql`${table.resolvedAt} is not null`),
    index('incidents_account_idx').on(table.accountId, table.openedAt.desc()),
    index('incidents_monitor_idx').on(table.monitorId, table.openedAt.desc()),
    index('incidents_activity_idx')
      .on(table.accountId, table.activityAt)
      .where(sql`${table.activityAt} is not null`),
  ],
);

/** Notes about an incident, deleted with it. */
export const incidentNotes = pgTable(
  'incident_notes',
  (t) => ({
    id: primaryId(),
    incidentId: ownerId('incident_id', () => incidents.id),
    /** The user, with the name at that time: a note outlives its author. */
    authorId: t.uuid('author_id').notNull(),
    authorName: t.text('author_name').notNull(),
    /** Markdown. */
    text: t.text('text').notNull(),
    createdAt: instant('created_at').notNull().default(clockNow),
    /** Null if it was never edited. */
    editedAt: instant('edited_at'),
  }),
  (table) => [index('incident_notes_incident_idx').on(table.incidentId, table.createdAt)],
);
