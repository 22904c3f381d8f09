import type { AccountGroup, OwnQuotas } from '@tocsin/contracts/accounts/account';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { check, index, pgTable, primaryKey, unique, uniqueIndex } from 'drizzle-orm/pg-core';
import { clockNow, instant, ownerId, primaryId } from '../database/sql.ts';

/** Every record belongs to an account. An account never sees the records of another. */
export const accounts = pgTable(
  'accounts',
  (t) => ({
    id: primaryId(),
    name: t.text('name').notNull(),
    /** First part of the paths of the dashboard. The default is only for services of the previous release. */
    slug: t
      .text('slug')
      .notNull()
      .default(sql`'account-' || substr(md5(random()::text), 1, 12)`),
    /** Limits that replace those of the settings. */
    quotas: t.jsonb('quotas').$type<OwnQuotas>().notNull().default({}),
    /** Groups of the identity provider whose users are members. */
    groups: t.jsonb('groups').$type<readonly AccountGroup[]>().notNull().default([]),
    createdAt: instant('created_at').notNull().default(clockNow),
    /** Set when the account was deleted. Its records are then deleted in small steps. */
    deletedAt: instant('deleted_at'),
  }),
  (table) => [
    uniqueIndex('accounts_slug_key')
      .on(table.slug)
      .where(sql`${table.deletedAt} is null`),
  ],
);

/** Owning account. Rows are deleted with it. */
export function accountId(): ReturnType<typeof ownerId<'account_id'>> {
  return ownerId('account_id', () => accounts.id);
}

export const users = pgTable(
  'users',
  (t) => ({
    id: primaryId(),
    name: t.text('name').notNull(),
    /** In lower case. Unique across accounts, because users sign in with it. */
    email: t.text('email').notNull(),
    /**
     * True if the address is verified: by single sign-on, by an invitation sent to it, by the setup link or by `BOOTSTRAP_ADMIN_EMAIL`. Single
     * sign-on requires this.
     */
    emailVerified: t.boolean('email_verified').notNull().default(false),
    image: t.text('image'),
    /** True if the user manages accounts. */
    isOperator: t.boolean('is_operator').notNull().default(false),
    /** Only for services of the previous release, as is `legacyRole`. */
    legacyAccountId: t.uuid('account_id'),
    legacyRole: t.text('role'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  }),
  (table) => [uniqueIndex('users_email_key').on(sql`lower(${table.email})`)],
);

/** Users of accounts. */
export const memberships = pgTable(
  'memberships',
  (t) => ({
    accountId: accountId(),
    userId: ownerId('user_id', () => users.id),
    role: t.text('role').$type<UserRole>().notNull(),
    /** True if it comes from a group of the identity provider. A sign-in without the group deletes it. */
    isFromGroup: t.boolean('is_from_group').notNull().default(false),
    createdAt: instant('created_at').notNull().default(clockNow),
  }),
  (table) => [
    primaryKey({ columns: [table.accountId, table.userId] }),
    index('memberships_user_idx').on(table.userId),
    check('memberships_role_known', sql`${table.role} in ('owner', 'member', 'viewer')`),
  ],
);

/** Addresses of deleted users, in the operators' account. A setting that still names one must not create the user again. */
export const userTombstones = pgTable(
  'user_tombstones',
  (t) => ({
    accountId: accountId(),
    /** In lower case. */
    email: t.text('email').notNull(),
    deletedAt: instant('deleted_at').notNull().default(clockNow),
  }),
  (table) => [primaryKey({ columns: [table.accountId, table.email] })],
);

/** Ways in which a user signs in, by password (`credential`) or single sign-on. better-auth calls them accounts. */
export const userLogins = pgTable(
  'user_logins',
  (t) => ({
    id: primaryId(),
    userId: ownerId('user_id', () => users.id),
    providerId: t.text('provider_id').notNull(),
    /** User id at the provider. For a password, the user's own id. */
    subject: t.text('subject').notNull(),
    /** Salted scrypt. Null for any other provider. */
    passwordHash: t.text('password_hash'),
    accessToken: t.text('access_token'),
    refreshToken: t.text('refresh_token'),
    idToken: t.text('id_token'),
    accessTokenExpiresAt: instant('access_token_expires_at'),
    refreshTokenExpiresAt: instant('refresh_token_expires_at'),
    scope: t.text('scope'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  }),
  (table) => [
    unique('user_logins_subject_key').on(table.providerId, table.subject),
    // One user has only one subject at a provider, because another subject with the same address is another person.
    uniqueIndex('user_logins_user_provider_key').on(table.userId, table.providerId),
  ],
);

/** Signed-in users. Every request reads the row, so deleting it signs out at once. */
export const sessions = pgTable(
  'sessions',
  (t) => ({
    id: primaryId(),
    userId: ownerId('user_id', () => users.id),
    /** Useless alone, because the cookie is also signed with a key that is not in the database. */
    token: t.text('token').notNull().unique(),
    expiresAt: instant('expires_at').notNull(),
    ipAddress: t.text('ip_address'),
    userAgent: t.text('user_agent'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  }),
  (table) => [index('sessions_user_idx').on(table.userId), index('sessions_expires_idx').on(table.expiresAt)],
);

/** State that better-auth keeps for a few minutes during a single sign-on. */
export const verifications = pgTable(
  'verifications',
  (t) => ({
    id: primaryId(),
    identifier: t.text('identifier').notNull(),
    value: t.text('value').notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  }),
  (table) => [
    index('verifications_identifier_idx').on(table.identifier),
    index('verifications_expires_idx').on(table.expiresAt),
  ],
);

/** Invitation links. Each lets one person become a user of the account. */
export const invitations = pgTable(
  'invitations',
  (t) => ({
    id: primaryId(),
    accountId: accountId(),
    /** SHA-256 of the token, hexadecimal. The token is not stored. */
    tokenHash: t.text('token_hash').notNull().unique(),
    role: t.text('role').$type<UserRole>().notNull(),
    /** In lower case. Null if the person with the link chooses one. */
    email: t.text('email'),
    expiresAt: instant('expires_at').notNull(),
    /** Null until the link is used, which is possible once. */
    acceptedAt: instant('accepted_at'),
    /** Null for the setup link and `OPERATOR_API_KEY`. Removing the user deletes these links, because that person knows them. */
    createdBy: t.uuid('created_by').references(() => users.id, { onDelete: 'cascade' }),
    /** True for the setup link, which works only while the installation has no users. */
    isSetup: t.boolean('is_setup').notNull().default(false),
    createdAt: instant('created_at').notNull().default(clockNow),
  }),
  (table) => [
    index('invitations_account_idx').on(table.accountId, table.createdAt.desc()),
    index('invitations_email_idx').on(table.email),
    check('invitations_role_known', sql`${table.role} in ('owner', 'member', 'viewer')`),
  ],
);
