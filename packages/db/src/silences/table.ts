import { index, pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { instant } from '../database/sql.ts';

/**
 * Times in which nothing is known of a monitor, because a result was missing: nothing checked it, its checks were inconclusive, or Postgres'
 * clock jumped. A silence is recorded when it ends. Without a foreign key, as incidents: they are deleted in small steps.
 */
export const silences = pgTable(
  'silences',
  (t) => ({
    monitorId: t.uuid('monitor_id').notNull(),
    /** When the first result after the last one was due. */
    startsAt: instant('starts_at').notNull(),
    /** The first result after it. */
    endsAt: instant('ends_at').notNull(),
  }),
  (table) => [
    primaryKey({ columns: [table.monitorId, table.startsAt] }),
    index('silences_ends_idx').using('brin', table.endsAt),
  ],
);
