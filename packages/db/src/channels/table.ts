import type { Selector } from '@tocsin/contracts/labels/selector';
import type { ChannelFormat, WebhookEvent } from '@tocsin/contracts/vocabulary';
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
    /** True if the channel is assigned to every monitor of the account, including later ones. */
    allMonitors: t.boolean('all_monitors').notNull().default(false),
    /** Selector of the assigned monitors (see `matchMonitors`), or null. */
    selector: t.jsonb('selector').$type<Selector>(),
    /** Webhook events to send, or null for all. */
    events: t.text('events').array().$type<WebhookEvent[]>(),
    format: t.text('format').$type<ChannelFormat>().notNull().default('standard'),
    /** Liquid template of the format `custom`, or null. */
    template: t.text('template'),
    /** Additional request headers with sealed values, or null. */
    sealedHeaders: t.jsonb('sealed_headers').$type<Record<string, string>>(),
    sealedRoutingKey: t.text('sealed_routing_key'),
    /** Seconds between reminders of a monitor that stays DOWN, or null for none. */
    remindAfter: t.integer('remind_after'),
    externalId: t.text('external_id'),
    source: t.text('source'),
    enabled: t.boolean('enabled').notNull().default(true),
    /** Why the service disabled the channel. Null if a user did, or while the channel is enabled. */
    disabledReason: t.text('disabled_reason'),
    /** First failed attempt since the last success. Null while the last attempt succeeded. */
    failingSince: instant('failing_since'),
    /** Valid only while `failingSince` is set. */
    lastFailedAt: instant('last_failed_at'),
    /** Maximum concurrent attempts across all notifiers. Adapts to the receiver. */
    attemptLimit: t.integer('attempt_limit').notNull().default(FIRST_ATTEMPT_LIMIT),
    /** No attempt except test events starts earlier, because the receiver requested a pause. */
    pausedUntil: instant('paused_until'),
    /** Set when deleted. The row stays until `deleteFinished` has deleted its deliveries. */
    deletedAt: instant('deleted_at'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  }),
  (table) => [
    index('channels_account_idx').on(table.accountId, table.createdAt.desc()),
    uniqueIndex('channels_external_id_key')
      .on(table.accountId, table.externalId)
      .where(sql`${table.externalId} is not null and ${table.deletedAt} is null`),
    index('channels_reminding_idx')
      .on(table.accountId)
      .where(sql`${table.remindAfter} is not null`),
  ],
);
export type ChannelRow = typeof channels.$inferSelect;

/** Monitors of a channel without `allMonitors`, assigned by id, by selector, or both. */
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
