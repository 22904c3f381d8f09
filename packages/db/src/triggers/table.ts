import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/sql.ts';
import { monitors } from '../monitors/table.ts';

/** A requested check. Taken at most once and never after `notAfter`, by Postgres' clock (design §4 "Trigger"). */
export const triggers = pgTable(
  'triggers',
  {
    id: uuid('id').primaryKey(),
    monitorId: uuid('monitor_id')
      .notNull()
      .references(() => monitors.id, { onDelete: 'cascade' }),
    region: text('region').notNull(),
    /** Replaces the monitor's URL for this check; null: the monitor's own. */
    url: text('url'),
    notAfter: instant('not_after').notNull(),
    startedAt: instant('started_at'),
    /** The stamp of the event its check was recorded as; null until then. */
    eventTimestamp: instant('event_timestamp'),
    createdAt: instant('created_at').notNull().default(clockNow),
  },
  (table) => [
    index('triggers_monitor_idx').on(table.monitorId),
    index('triggers_created_idx').on(table.createdAt),
  ],
);
