import type { DeliveryState, WebhookEvent } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core';
import { accounts } from '../accounts/table.ts';
import { channels } from '../channels/table.ts';
import { clockNow, instant } from '../database/columns.ts';

/** One webhook event to one channel. `nextAttemptAt` is the only retry clock (design §4 "Delivery"). */
export const deliveries = pgTable(
  'deliveries',
  {
    /** Also the `webhook-id` of every attempt. */
    id: uuid('id').primaryKey(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    channelId: uuid('channel_id')
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    statusChangeId: uuid('status_change_id').notNull(),
    monitorId: uuid('monitor_id').notNull(),
    event: text('event').$type<WebhookEvent>().notNull(),
    /** The stamp of the webhook event: deliveries of a monitor to a channel start in this order. */
    timestamp: instant('timestamp').notNull(),
    payload: text('payload').notNull(),
    /** A test event: attempted once, whatever the state of its channel, and without any effect on that. */
    test: boolean('test').notNull().default(false),
    state: text('state').$type<DeliveryState>().notNull(),
    /** Attempts whose outcome is recorded. */
    attemptCount: integer('attempt_count').notNull().default(0),
    /** Of them those since the last redelivery: the retry schedule starts over with it. */
    roundAttemptCount: integer('round_attempt_count').notNull().default(0),
    /** The first attempt since then. */
    firstAttemptAt: instant('first_attempt_at'),
    /** Null where no attempt is due: delivered, failed or held. */
    nextAttemptAt: instant('next_attempt_at').default(clockNow),
    /** Until when the running attempt owns the row; null where none runs. */
    leasedUntil: instant('leased_until'),
    /** Names the running attempt: only its holder may record an outcome. */
    leaseToken: uuid('lease_token'),
    createdAt: instant('created_at').notNull().default(clockNow),
    deliveredAt: instant('delivered_at'),
  },
  (table) => [
    unique('deliveries_fan_out_key').on(table.statusChangeId, table.event, table.channelId),
    index('deliveries_due_idx')
      .on(table.channelId, table.nextAttemptAt)
      .where(sql`${table.state} = 'pending'`),
    // Written so that no other index can stand in for these two, which the planner would take for equal while its
    // statistics know nothing of a backlog.
    index('deliveries_repeated_idx')
      .on(table.channelId, table.nextAttemptAt)
      .where(
        sql`case when ${table.state} = 'pending' then ${table.roundAttemptCount} > 0 or ${table.test} end`,
      ),
    index('deliveries_leased_idx')
      .on(table.channelId)
      .where(sql`${table.leasedUntil} is not null`),
    index('deliveries_first_attempt_idx')
      .on(table.channelId, table.monitorId, table.timestamp)
      .where(
        sql`case when ${table.state} = 'pending' and not ${table.test} then ${table.roundAttemptCount} end = 0`,
      ),
    index('deliveries_channel_idx').on(table.channelId, table.createdAt.desc()),
    index('deliveries_channel_state_idx').on(table.channelId, table.state, table.createdAt.desc()),
    index('deliveries_finished_idx')
      .on(table.createdAt)
      .where(sql`${table.state} <> 'pending'`),
  ],
);
export type DeliveryRow = typeof deliveries.$inferSelect;

/** The log of attempts. `error` is null where the receiver answered 2xx. */
export const attempts = pgTable(
  'attempts',
  {
    deliveryId: uuid('delivery_id')
      .notNull()
      .references(() => deliveries.id, { onDelete: 'cascade' }),
    number: integer('number').notNull(),
    startedAt: instant('started_at').notNull(),
    durationMs: integer('duration_ms').notNull(),
    statusCode: integer('status_code'),
    error: text('error'),
    /** The first bytes of the answer, as text. */
    responseExcerpt: text('response_excerpt'),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.number] })],
);
export type AttemptRow = typeof attempts.$inferSelect;
