import { index, pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/sql.ts';
import { monitorId } from '../monitors/table.ts';
import { accountId } from '../users/table.ts';

/** Monitors that show whether a region has a network. Each account has its own, so that no other account decides for it. */
export const regionCanaries = pgTable(
  'region_canaries',
  (t) => ({
    accountId: accountId(),
    region: t.text('region').notNull(),
    monitorId: monitorId(),
  }),
  (table) => [
    primaryKey({ columns: [table.accountId, table.region, table.monitorId] }),
    index('region_canaries_monitor_idx').on(table.monitorId),
  ],
);

/** Checkers without a network. Each renews its row until a canary responds. The row is deleted once the following checks are in the queue. */
export const regionIsolations = pgTable(
  'region_isolations',
  (t) => ({
    accountId: accountId(),
    region: t.text('region').notNull(),
    checkerId: t.uuid('checker_id').notNull(),
    since: instant('since').notNull().default(clockNow),
    renewedAt: instant('renewed_at').notNull().default(clockNow),
    /** When a canary responded again. Null until then. */
    endedAt: instant('ended_at'),
  }),
  (table) => [primaryKey({ columns: [table.accountId, table.region, table.checkerId] })],
);

/** Messages to the operators about regions that record nothing. A row lasts until the operators know that the region records results again. */
export const regionAlerts = pgTable('region_alerts', (t) => ({
  region: t.text('region').primaryKey(),
  /** Oldest due check without a result. */
  lateSince: instant('late_since').notNull(),
  recoveredAt: instant('recovered_at'),
  /** The same id in each attempt of a message. */
  messageId: t.uuid('message_id').notNull().defaultRandom(),
  attempts: t.integer('attempts').notNull().default(0),
  /** Null once the message is delivered or abandoned. */
  nextAttemptAt: instant('next_attempt_at').default(clockNow),
}));
