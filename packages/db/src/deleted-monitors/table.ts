import { pgTable, uuid } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/columns.ts';

/**
 * Monitors that were deleted together with others, as long as events or rollups of theirs are left: nobody can ask for those any
 * more, and there may be too many for one transaction.
 */
export const deletedMonitors = pgTable('deleted_monitors', {
  monitorId: uuid('monitor_id').primaryKey(),
  deletedAt: instant('deleted_at').notNull().default(clockNow),
});
