import { index, pgTable } from 'drizzle-orm/pg-core';
import { clockNow, instant, primaryId } from '../database/sql.ts';
import { accountId } from '../users/table.ts';

/** Checks of settings that are not saved. Each is taken at most once, and never after `notAfter` by PostgreSQL's clock. */
export const testChecks = pgTable(
  'test_checks',
  (t) => ({
    id: primaryId(),
    accountId: accountId(),
    sealedRequest: t.text('sealed_request').notNull(),
    notAfter: instant('not_after').notNull(),
    startedAt: instant('started_at'),
    /** Null until the check has ended. */
    sealedResult: t.text('sealed_result'),
    createdAt: instant('created_at').notNull().default(clockNow),
  }),
  (table) => [
    index('test_checks_account_idx').on(table.accountId),
    index('test_checks_created_idx').on(table.createdAt),
  ],
);
