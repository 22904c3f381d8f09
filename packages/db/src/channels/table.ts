import type { Selector } from '@tocsin/contracts/labels/selector';
import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import { FIRST_ATTEMPT_LIMIT } from '@tocsin/core/deliveries/attempt-limit';
import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, uniqueIndex } from 'drizzle-orm/pg-core';
import { clockNow, instant, ownerId, primaryId } from '../database/sql.ts';
import { assignmentColumns, monitorId } from '../monitors/table.ts';
import { accountId } from '../users/table.ts';

/** Webhook channels. Secrets are sealed. After a rotation the previous one stays valid until it expires. */
export const channels = pgTable(
  'channels',
  (t) => ({
    id: primaryId(),
    accountId: accountId(),
    name: t.text('name').notNull(),
    url: t.text('url').notNull(),
    sealedSecret: t.text('sealed_secret').notNull(),
    sealedPreviousSecret: t.text('sealed_previous_secret'),
    previousSecretExpiresAt: instant('previous_secret_expires_at'),
    /** Assigned to every monitor of the account, including later ones. */
    allMonitors: t.boolean('all_monitors').notNull().default(false),
    /** Assigned to the monitors that it matches, see `matchMonitors`. Null: to none. */
    selector: t.jsonb('selector').$type<Selector>(),
    /** The webhook events that it receives; null: all. */
    events: t.text('events').array().$type<WebhookEvent[]>(),
    externalId: t.text('external_id'),
    source: t.text('source'),
    enabled: t.boolean('enabled').notNull().default(true),
    /** Why the service disabled it; null if a user did, or while it is enabled. */
    disabledReason: t.text('disabled_reason'),
    /** The first failed attempt since the last success; null while the last attempt succeeded. */
    failingSince: instant('failing_since'),
    /** The last failed attempt; counts only while `failingSince` is set. */
    lastFailedAt: instant('last_failed_at'),
    /** Attempts to it that may run at the same time, across all notifiers; it adapts to the receiver. */
    attemptLimit: t.integer('attempt_limit').notNull().default(FIRST_ATTEMPT_LIMIT),
    /** No attempt starts earlier, as its receiver requested; test events do not wait. */
    pausedUntil: instant('paused_until'),
    /** Not null: deleted. The row stays until `deleteFinished` has deleted its deliveries. */
    deletedAt: instant('deleted_at'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  }),
  (table) => [
    index('channels_account_idx').on(table.accountId, table.createdAt.desc()),
    uniqueIndex('channels_external_id_key')
      .on(table.accountId, table.externalId)
      .where(sql`${table.externalId} is not null and ${table.deletedAt} is null`),
  ],
);
export type ChannelRow = typeof channels.$inferSelect;

/** The monitors that a channel is assigned to, besides `allMonitors`: by their ids, by its selector, or both. */
export const channelMonitors = pgTable(
  'channel_monitors',
  {
    channelId: ownerId('channel_id', () => channels.id),
    monitorId: monitorId(),
    ...assignmentColumns,
  },
  (table) => [
    primaryKey({ columns: [table.monitorId, table.channelId] }),
    index('channel_monitors_channel_idx').on(table.channelId),
  ],
);
