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
import { clockNow, instant } from '../database/sql.ts';

/** Everything belongs to an account; one account never sees another's. */
export const accounts = pgTable('accounts', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  createdAt: instant('created_at').notNull().default(clockNow),
});

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

/** Who is signed in. Looked up at every request, so that deleting a row signs out at once. */
export const sessions = pgTable(
  'sessions',
  {
    id: uuid('id')
      .primaryKey()
      .$defaultFn(() => uuidv7()),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Worth nothing by itself: the cookie also carries a signature made with a key that is not in the database. */
    token: text('token').notNull().unique(),
    expiresAt: instant('expires_at').notNull(),
    ipAddress: text('ip_address'),
    userAgent: text('user_agent'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  },
  (table) => [index('sessions_user_idx').on(table.userId), index('sessions_expires_idx').on(table.expiresAt)],
);

/** What better-auth must remember for a few minutes: the state of a single sign-on under way. */
export const verifications = pgTable(
  'verifications',
  {
    id: uuid('id')
      .primaryKey()
      .$defaultFn(() => uuidv7()),
    identifier: text('identifier').notNull(),
    value: text('value').notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  },
  (table) => [
    index('verifications_identifier_idx').on(table.identifier),
    index('verifications_expires_idx').on(table.expiresAt),
  ],
);

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
