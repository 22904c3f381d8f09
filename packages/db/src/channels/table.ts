import { boolean, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/sql.ts';
import { monitors } from '../monitors/table.ts';
import { accounts } from '../users/table.ts';

/** Webhook channels. Secrets are sealed; the previous one stays valid until its expiry after a rotation. */
export const channels = pgTable(
  'channels',
  {
    id: uuid('id').primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    url: text('url').notNull(),
    sealedSecret: text('sealed_secret').notNull(),
    sealedPreviousSecret: text('sealed_previous_secret'),
    previousSecretExpiresAt: instant('previous_secret_expires_at'),
    /** Assigned to every monitor of the account, later ones too. */
    allMonitors: boolean('all_monitors').notNull().default(false),
    enabled: boolean('enabled').notNull().default(true),
    /** Why the service disabled it; null where a person did, or while it is enabled. */
    disabledReason: text('disabled_reason'),
    /** The first failed attempt since the last success; null while the last attempt succeeded. */
    failingSince: instant('failing_since'),
    /** The last failed attempt; counts only while `failingSince` is set. */
    lastFailedAt: instant('last_failed_at'),
    /** Set: deleted for everybody; the row stays until housekeeping has deleted its deliveries. */
    deletedAt: instant('deleted_at'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  },
  (table) => [index('channels_account_idx').on(table.accountId, table.createdAt.desc())],
);
export type ChannelRow = typeof channels.$inferSelect;

/** Which monitors a channel is assigned to, besides `allMonitors`. */
export const channelMonitors = pgTable(
  'channel_monitors',
  {
    channelId: uuid('channel_id')
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    monitorId: uuid('monitor_id')
      .notNull()
      .references(() => monitors.id, { onDelete: 'cascade' }),
  },
  (table) => [
    primaryKey({ columns: [table.monitorId, table.channelId] }),
    index('channel_monitors_channel_idx').on(table.channelId),
  ],
);
