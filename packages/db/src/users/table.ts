import type { UserRole } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import {
  boolean,
  check,
  index,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { v7 as uuidv7 } from 'uuid';
import { accounts } from '../accounts/table.ts';
import { clockNow, instant } from '../database/columns.ts';

/** The people of an account, who sign in to the dashboard. */
export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    role: text('role').$type<UserRole>().notNull(),
    name: text('name').notNull(),
    /** In lower case. Unique in all accounts: it is what people sign in with. */
    email: text('email').notNull(),
    /** Whether somebody else than the user vouched for the address: only then may single sign-on take the user over. */
    emailVerified: boolean('email_verified').notNull().default(false),
    image: text('image'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  },
  (table) => [
    uniqueIndex('users_email_key').on(sql`lower(${table.email})`),
    index('users_account_idx').on(table.accountId, table.createdAt),
    check('users_role_known', sql`${table.role} in ('owner', 'member')`),
  ],
);

/** Addresses of people who were removed: a set-up that still names one must not bring that person back (design §2). */
export const userTombstones = pgTable(
  'user_tombstones',
  {
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    /** In lower case. */
    email: text('email').notNull(),
    deletedAt: instant('deleted_at').notNull().default(clockNow),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.email] })],
);

/** The ways a user signs in: by password (`credential`) or by single sign-on. better-auth calls them accounts. */
export const userLogins = pgTable(
  'user_logins',
  {
    id: uuid('id')
      .primaryKey()
      .$defaultFn(() => uuidv7()),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    providerId: text('provider_id').notNull(),
    /** Who the user is to the provider; of a password: the user's own id. */
    subject: text('subject').notNull(),
    /** scrypt, salted; null where the provider is another. */
    passwordHash: text('password_hash'),
    accessToken: text('access_token'),
    refreshToken: text('refresh_token'),
    idToken: text('id_token'),
    accessTokenExpiresAt: instant('access_token_expires_at'),
    refreshTokenExpiresAt: instant('refresh_token_expires_at'),
    scope: text('scope'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  },
  (table) => [
    unique('user_logins_subject_key').on(table.providerId, table.subject),
    // Whoever else has the address of a linked user at the provider, by another subject, is not that user.
    uniqueIndex('user_logins_user_provider_key').on(table.userId, table.providerId),
  ],
);
