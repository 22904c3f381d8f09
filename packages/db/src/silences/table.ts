import { pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { instant } from '../database/sql.ts';

/**
 * Times in which no region had a recent result of a monitor, because nothing checked it or Postgres' clock jumped. Nothing is known of the
 * target then. A silence is known when it ends. Without a foreign key, as incidents: they are deleted in small steps.
 */
export const silences = pgTable(
  'silences',
  (t) => ({
    monitorId: t.uuid('monitor_id').notNull(),
    /** When the next result after the last one was due. */
    startsAt: instant('starts_at').notNull(),
    /** The first result after it. */
    endsAt: instant('ends_at').notNull(),
  }),
  (table) => [primaryKey({ columns: [table.monitorId, table.startsAt] })],
);
