import type { Labels } from '@tocsin/contracts/labels/labels';
import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { index, pgTable, uniqueIndex } from 'drizzle-orm/pg-core';
import { clockNow, instant, ownerId, primaryId } from '../database/sql.ts';
import { accountId } from '../users/table.ts';

/** Without a foreign key, because deleting a monitor must not delete its many incidents in one transaction. */
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
    /** Labels of the monitor when the incident opened. All webhooks of the incident have them, because receivers match events by labels. */
    labels: t.jsonb('labels').$type<Labels>().notNull().default({}),
    /** Acknowledging user, with the name at that time, which stays after the user is removed. Null without an acknowledgement. */
    acknowledgedAt: instant('acknowledged_at'),
    acknowledgedById: t.uuid('acknowledged_by_id'),
    acknowledgedByName: t.text('acknowledged_by_name'),
    /** When a person last changed the acknowledgement or notes, which live streams follow. Null without such a change. */
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

export const incidentNotes = pgTable(
  'incident_notes',
  (t) => ({
    id: primaryId(),
    incidentId: ownerId('incident_id', () => incidents.id),
    /** Author, with the name at that time, which stays after the user is removed. */
    authorId: t.uuid('author_id').notNull(),
    authorName: t.text('author_name').notNull(),
    text: t.text('text').notNull(),
    createdAt: instant('created_at').notNull().default(clockNow),
    editedAt: instant('edited_at'),
  }),
  (table) => [index('incident_notes_incident_idx').on(table.incidentId, table.createdAt)],
);
