import type { DeliveryState, WebhookEvent } from '@tocsin/contracts/vocabulary';
import { type Name, sql, type SQL } from 'drizzle-orm';
import { type AnyPgColumn, index, pgTable, primaryKey, unique, uniqueIndex } from 'drizzle-orm/pg-core';
import { clockNow, instant, ownerId, primaryId } from '../database/sql.ts';

/** Conditions that a claim looks for. Each has its own index. */
const CLAIM_CONDITIONS = {
  pending: (d: Name) => sql`${d}.state = 'pending'`,
  /** Attempted since it was created or released. It waits for no other delivery. */
  repeated: (d: Name) => sql`${d}.state = 'pending' and ${d}.round_attempt_count > 0 and not ${d}.test`,
  /** Not attempted since it was created or released. It waits for the earlier deliveries of its monitor. */
  unattempted: (d: Name) => sql`${d}.state = 'pending' and ${d}.round_attempt_count = 0 and not ${d}.test`,
  /** A test event. It waits for no other delivery, and does not need an enabled channel. */
  test: (d: Name) => sql`${d}.state = 'pending' and ${d}.test`,
  leased: (d: Name) => sql`${d}.leased_until is not null`,
} as const;

/**
 * Channel of a delivery that meets a condition, or null for any other delivery. Only the index that begins with this expression can serve a
 * query for it, whatever the planner's statistics say (ADR 5).
 */
export function channelIf(condition: keyof typeof CLAIM_CONDITIONS, row = 'deliveries'): SQL {
  const name = sql.identifier(row);
  return sql`(case when ${CLAIM_CONDITIONS[condition](name)} then ${name}.channel_id end)`;
}

function claimIndex(name: string, condition: keyof typeof CLAIM_CONDITIONS, ...columns: AnyPgColumn[]) {
  const channel = channelIf(condition);
  return index(name)
    .on(channel, ...columns)
    .where(sql`${channel} is not null`);
}

/** One webhook event to one channel. `nextAttemptAt` is the only retry clock. */
export const deliveries = pgTable(
  'deliveries',
  (t) => ({
    /** Also the `webhook-id` of every attempt. */
    id: primaryId(),
    // There are no foreign keys, because checking one takes a tenth of the time of a fan-out. `deleteFinished` deletes the deliveries of a
    // deleted channel before the channel, and no deliveries are created for a deleted channel.
    accountId: t.uuid('account_id').notNull(),
    channelId: t.uuid('channel_id').notNull(),
    statusChangeId: t.uuid('status_change_id').notNull(),
    monitorId: t.uuid('monitor_id').notNull(),
    event: t.text('event').$type<WebhookEvent>().notNull(),
    /** Timestamp of the webhook event. Deliveries of a monitor to a channel start in this order. */
    timestamp: instant('timestamp').notNull(),
    /** Body of every attempt. A placeholder stands for the routing key of PagerDuty. */
    payload: t.text('payload').notNull(),
    /** Routing key of the body. Null if the body has none. */
    sealedRoutingKey: t.text('sealed_routing_key'),
    /** Why the template of the channel failed, so that the body is the standard payload. Null otherwise. */
    formatError: t.text('format_error'),
    /** True for a test event. It is attempted once, regardless of the channel's state, and does not affect that state. */
    test: t.boolean('test').notNull().default(false),
    /** True for a reminder, which is withdrawn if it is no longer needed when its turn comes. */
    reminder: t.boolean('reminder').notNull().default(false),
    state: t.text('state').$type<DeliveryState>().notNull(),
    attemptCount: t.integer('attempt_count').notNull().default(0),
    /** Attempts since the last redelivery, which restarts the retry schedule. */
    roundAttemptCount: t.integer('round_attempt_count').notNull().default(0),
    /** First attempt since the last redelivery. */
    firstAttemptAt: instant('first_attempt_at'),
    /** Null if no attempt is due, because the delivery is delivered, failed or held. */
    nextAttemptAt: instant('next_attempt_at').default(clockNow),
    /** End of the running attempt's lease, or null without one. */
    leasedUntil: instant('leased_until'),
    /** Identifies the running attempt. Without this token, only a success changes the delivery. */
    leaseToken: t.uuid('lease_token'),
    createdAt: instant('created_at').notNull().default(clockNow),
    deliveredAt: instant('delivered_at'),
  }),
  (table) => [
    unique('deliveries_fan_out_key').on(table.statusChangeId, table.event, table.channelId),
    claimIndex('deliveries_pending_idx', 'pending', table.nextAttemptAt, table.id),
    claimIndex('deliveries_repeated_due_idx', 'repeated', table.nextAttemptAt, table.id),
    claimIndex('deliveries_test_due_idx', 'test', table.nextAttemptAt, table.id),
    claimIndex('deliveries_unattempted_idx', 'unattempted', table.monitorId, table.timestamp),
    claimIndex('deliveries_lease_idx', 'leased'),
    index('deliveries_channel_newest_idx').on(
      table.channelId,
      table.state,
      table.createdAt.desc(),
      table.id.desc(),
    ),
    index('deliveries_reminder_idx')
      .on(table.channelId, table.monitorId)
      .where(sql`${table.reminder}`),
    index('deliveries_format_error_idx')
      .on(table.channelId, table.createdAt)
      .where(sql`${table.formatError} is not null`),
    index('deliveries_sealed_idx')
      .on(table.id)
      .where(sql`${table.sealedRoutingKey} is not null`),
    index('deliveries_finished_idx')
      .on(table.createdAt)
      .where(sql`${table.state} <> 'pending'`),
  ],
);
export type DeliveryRow = typeof deliveries.$inferSelect;

/** Log of attempts. `error` is null after a 2xx response. */
export const attempts = pgTable(
  'attempts',
  (t) => ({
    deliveryId: ownerId('delivery_id', () => deliveries.id),
    number: t.integer('number').notNull(),
    startedAt: instant('started_at').notNull(),
    durationMs: t.integer('duration_ms').notNull(),
    statusCode: t.integer('status_code'),
    error: t.text('error'),
    /** First bytes of the response as text. */
    responseExcerpt: t.text('response_excerpt'),
  }),
  (table) => [primaryKey({ columns: [table.deliveryId, table.number] })],
);
export type AttemptRow = typeof attempts.$inferSelect;

/** Periods in which no receiver responded, because this installation could not reach any. They count neither for deliveries nor for channels. */
export const deliveryOutages = pgTable(
  'delivery_outages',
  {
    startedAt: instant('started_at').primaryKey(),
    /** Null while the outage lasts. */
    endedAt: instant('ended_at'),
  },
  (table) => [
    uniqueIndex('delivery_outages_open_key')
      .on(sql`(${table.endedAt} is null)`)
      .where(sql`${table.endedAt} is null`),
  ],
);
