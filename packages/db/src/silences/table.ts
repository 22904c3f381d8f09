import { index, pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { instant } from '../database/sql.ts';

/**
 * Periods without a known status of a monitor, because a result was missing. Nothing checked the monitor, its checks were inconclusive, or
 * PostgreSQL's clock jumped. A silence is recorded when it ends. There is no foreign key, as for incidents, because silences are deleted in
 * small steps.
 */
export const silences = pgTable(
  'silences',
  (t) => ({
    monitorId: t.uuid('monitor_id').notNull(),
    /** When the first result after the last one was due. */
    startsAt: instant('starts_at').notNull(),
    /** Timestamp of the first result after the silence. */
    endsAt: instant('ends_at').notNull(),
  }),
  (table) => [
    primaryKey({ columns: [table.monitorId, table.startsAt] }),
    index('silences_ends_idx').using('brin', table.endsAt),
  ],
);
