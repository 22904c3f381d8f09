import type { MaintenanceWindowState } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, uniqueIndex } from 'drizzle-orm/pg-core';
import { selectsAll } from '../assignments/assignments.ts';
import { clockNow, instant, ownerId, primaryId } from '../database/sql.ts';
import { assignmentColumns, monitorId } from '../monitors/table.ts';
import { accountId } from '../users/table.ts';

/**
 * How an occurrence ended. Either its time was over, or a user ended it, or it was missed because not all of its monitors entered
 * maintenance.
 */
export type MaintenanceOutcome = 'completed' | 'cut_short' | 'missed';

/** Planned maintenance, once or repeated by an RRULE in a time zone. The row has the running or the next occurrence. */
export const maintenanceWindows = pgTable(
  'maintenance_windows',
  (t) => ({
    id: primaryId(),
    accountId: accountId(),
    name: t.text('name').notNull(),
    /** True if the window covers every monitor of the account. With a selector, it covers the matching monitors besides the listed ones. */
    allMonitors: t.boolean('all_monitors').notNull().default(false),
    selector: t.jsonb('selector').$type<Selector>(),
    /** Selects only monitors of these sources, which the API key that created the window may change. Null for any source. */
    sources: t.text('sources').array(),
    externalId: t.text('external_id'),
    source: t.text('source'),
    startsAt: instant('starts_at').notNull(),
    endsAt: instant('ends_at').notNull(),
    /** RFC 5545 without DTSTART. Null for a single occurrence. */
    rrule: t.text('rrule'),
    /** IANA name. Recurrences keep their local time in this zone. */
    timeZone: t.text('time_zone').notNull().default('UTC'),
    state: t.text('state').$type<MaintenanceWindowState>().notNull().default('scheduled'),
    /** Running or next occurrence. Null if none is left. */
    occurrenceStartsAt: instant('occurrence_starts_at'),
    occurrenceEndsAt: instant('occurrence_ends_at'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  }),
  (table) => [
    uniqueIndex('maintenance_windows_external_id_key')
      .on(table.accountId, table.externalId)
      .where(sql`${table.externalId} is not null`),
    index('maintenance_windows_account_idx').on(table.accountId, table.startsAt.desc()),
    index('maintenance_windows_due_idx')
      .on(table.occurrenceStartsAt, table.occurrenceEndsAt)
      .where(sql`${table.state} <> 'ended'`),
    index('maintenance_windows_account_due_idx')
      .on(table.accountId, table.occurrenceStartsAt, table.occurrenceEndsAt)
      .where(sql`${table.state} <> 'ended'`),
    // Every recorded batch of checks reads these windows.
    index('maintenance_windows_all_idx')
      .on(table.accountId, table.occurrenceStartsAt)
      .where(sql`${table.state} <> 'ended' and ${selectsAll('window', 'maintenance_windows')}`),
  ],
);
export type MaintenanceWindowRow = typeof maintenanceWindows.$inferSelect;

export const maintenanceWindowMonitors = pgTable(
  'maintenance_window_monitors',
  {
    windowId: ownerId('window_id', () => maintenanceWindows.id),
    monitorId: monitorId(),
    ...assignmentColumns,
  },
  (table) => [
    primaryKey({ columns: [table.windowId, table.monitorId] }),
    index('maintenance_window_monitors_monitor_idx').on(table.monitorId),
  ],
);

export const maintenanceOccurrences = pgTable(
  'maintenance_occurrences',
  (t) => ({
    windowId: ownerId('window_id', () => maintenanceWindows.id),
    startsAt: instant('starts_at').notNull(),
    endsAt: instant('ends_at').notNull(),
    outcome: t.text('outcome').$type<MaintenanceOutcome>().notNull(),
  }),
  (table) => [primaryKey({ columns: [table.windowId, table.startsAt] })],
);
