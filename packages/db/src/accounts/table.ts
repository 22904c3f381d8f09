import { pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/columns.ts';

/** Everything belongs to an account; one account never sees another's. */
export const accounts = pgTable('accounts', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  createdAt: instant('created_at').notNull().default(clockNow),
});
