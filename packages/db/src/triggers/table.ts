import { index, pgTable } from 'drizzle-orm/pg-core';
import { clockNow, instant, primaryId } from '../database/sql.ts';
import { monitorId } from '../monitors/table.ts';

/** Requested checks. Each is taken at most once, and never after `notAfter` by PostgreSQL's clock. */
export const triggers = pgTable(
  'triggers',
  (t) => ({
    id: primaryId(),
    monitorId: monitorId(),
    region: t.text('region').notNull(),
    /** Replaces the monitor's URL for this check, or null. */
    url: t.text('url'),
    notAfter: instant('not_after').notNull(),
    startedAt: instant('started_at'),
    /** Timestamp of the check's event. Null until it is recorded. */
    eventTimestamp: instant('event_timestamp'),
    createdAt: instant('created_at').notNull().default(clockNow),
  }),
  (table) => [
    index('triggers_monitor_idx').on(table.monitorId),
    index('triggers_created_idx').on(table.createdAt),
  ],
);
