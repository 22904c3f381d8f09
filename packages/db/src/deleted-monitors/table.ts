import { pgTable, uuid } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/columns.ts';

/** Deleted monitors that may have left events, rollups or incidents: there may be too many of those for one transaction. */
export const deletedMonitors = pgTable('deleted_monitors', {
  monitorId: uuid('monitor_id').primaryKey(),
  deletedAt: instant('deleted_at').notNull().default(clockNow),
});
