import type { MonitorStatus, WebhookEvent } from '@tocsin/contracts/vocabulary';
import { sql, type SQL } from 'drizzle-orm';
import { index, pgTable } from 'drizzle-orm/pg-core';
import { clockNow, instant, primaryId } from '../database/sql.ts';

/** One webhook event of a status change. Every attempt sends the exact text of `payload`. */
export interface FrozenWebhookEvent {
  readonly event: WebhookEvent;
  readonly payload: string;
  /** Trace context that the deliveries continue. It is never sent. Absent without one. */
  readonly traceparent?: string | undefined;
  /** Channels whose filter includes the event. Absent for all channels of the status change. */
  readonly channelIds?: readonly string[];
}

/** Monitor of a status change that is not dispatched yet, or null for others. Like `channelIf`, it has an index. */
export function monitorIfDue(row = 'status_changes'): SQL {
  return ifDue('monitor_id', row);
}

/** Account of a status change that is not dispatched yet, or null for others. */
export function accountIfDue(row = 'status_changes'): SQL {
  return ifDue('account_id', row);
}

function ifDue(column: 'monitor_id' | 'account_id', row: string): SQL {
  const name = sql.identifier(row);
  return sql`(case when ${name}.dispatched_at is null then ${name}.${sql.raw(column)} end)`;
}

/** The outbox (docs/concepts/delivery.md). Each row freezes what its deliveries need, and stays when its monitor is deleted. */
export const statusChanges = pgTable(
  'status_changes',
  (t) => ({
    id: primaryId(),
    /** Without a foreign key, so that deleting an account need not look for its changes. */
    accountId: t.uuid('account_id').notNull(),
    monitorId: t.uuid('monitor_id').notNull(),
    fromStatus: t.text('from_status').$type<MonitorStatus>().notNull(),
    toStatus: t.text('to_status').$type<MonitorStatus>().notNull(),
    region: t.text('region').notNull(),
    /** Why the monitor is DOWN. Null for any other status. */
    errorDetail: t.text('error_detail'),
    timestamp: instant('timestamp').notNull(),
    webhookEvents: t.jsonb('webhook_events').$type<readonly FrozenWebhookEvent[]>().notNull(),
    /** Channels assigned when the status changed. */
    channelIds: t.uuid('channel_ids').array().notNull(),
    /** When its deliveries were created. Null until then. */
    dispatchedAt: instant('dispatched_at'),
    createdAt: instant('created_at').notNull().default(clockNow),
  }),
  (table) => [
    index('status_changes_undispatched_idx')
      .on(monitorIfDue(), table.timestamp)
      .where(sql`${monitorIfDue()} is not null`),
    index('status_changes_account_due_idx')
      .on(accountIfDue(), table.timestamp)
      .where(sql`${accountIfDue()} is not null`),
    index('status_changes_dispatched_idx')
      .on(table.dispatchedAt)
      .where(sql`${table.dispatchedAt} is not null`),
    // Deleted first, because maintenance changes are kept longer.
    index('status_changes_expiry_idx')
      .on(table.dispatchedAt)
      .where(
        sql`${table.dispatchedAt} is not null and not (${table.fromStatus} = 'MAINTENANCE' or ${table.toStatus} = 'MAINTENANCE')`,
      ),
    index('status_changes_monitor_idx').on(table.monitorId, table.timestamp.desc()),
  ],
);
