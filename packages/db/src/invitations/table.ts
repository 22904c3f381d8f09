import type { UserRole } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { boolean, check, index, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { accounts } from '../accounts/table.ts';
import { clockNow, instant } from '../database/columns.ts';
import { users } from '../users/table.ts';

/** Links that let one person each become a user of the account, by the SHA-256 of their token. */
export const invitations = pgTable(
  'invitations',
  {
    id: uuid('id').primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    /** SHA-256 of the token, hexadecimal; the token is stored nowhere. */
    tokenHash: text('token_hash').notNull().unique(),
    role: text('role').$type<UserRole>().notNull(),
    /** In lower case; null: whoever has the link chooses one. */
    email: text('email'),
    expiresAt: instant('expires_at').notNull(),
    /** Null until it is used, which it can be once. */
    acceptedAt: instant('accepted_at'),
    /** Null for the set-up link, which nobody made. Who is removed takes the links along: they are known to that person. */
    createdBy: uuid('created_by').references(() => users.id, { onDelete: 'cascade' }),
    /** The link that sets up an account which has no user yet (design §2). */
    isSetup: boolean('is_setup').notNull().default(false),
    createdAt: instant('created_at').notNull().default(clockNow),
  },
  (table) => [
    index('invitations_account_idx').on(table.accountId, table.createdAt.desc()),
    index('invitations_email_idx').on(table.email),
    check('invitations_role_known', sql`${table.role} in ('owner', 'member')`),
  ],
);
