import type { Assertions } from '@tocsin/contracts/monitors/monitor';
import type { HttpMethod, MonitorStatus } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { clockNow, instant, ownerId, primaryId } from '../database/sql.ts';
import { accountId } from '../users/table.ts';

/**
 * Monitors with their settings and status. A transaction that writes the status, regions, incidents or events of a monitor holds the lock of
 * its row. Header values and the body are sealed one by one.
 */
export const monitors = pgTable(
  'monitors',
  {
    id: primaryId(),
    accountId: accountId(),
    name: text('name').notNull(),
    url: text('url').notNull(),
    type: text('type').notNull(),
    intervalSeconds: integer('interval_seconds').notNull(),
    timeoutSeconds: integer('timeout_seconds').notNull(),
    method: text('method').$type<HttpMethod>().notNull(),
    sealedHeaders: jsonb('sealed_headers').$type<Record<string, string>>(),
    sealedBody: text('sealed_body'),
    assertions: jsonb('assertions').$type<Assertions>(),
    failureThreshold: integer('failure_threshold').notNull(),
    /** As given; empty means the default region. */
    regions: text('regions').array().notNull(),
    runbookUrl: text('runbook_url'),
    externalId: text('external_id'),
    source: text('source'),
    /** Raised by every change. */
    revision: integer('revision').notNull().default(1),
    /** The revision that last changed url, method, headers, body, assertions or timeout. */
    probeRevision: integer('probe_revision').notNull().default(1),
    status: text('status').$type<MonitorStatus>().notNull().default('PENDING'),
    statusSince: instant('status_since').notNull().default(clockNow),
    /** The status that maintenance covers; null without maintenance. */
    statusBeforeMaintenance: text('status_before_maintenance').$type<'PENDING' | 'UP' | 'DOWN'>(),
    lastCheckedAt: instant('last_checked_at'),
    /** The monitor's clock: the last stamp of an event or a webhook event. */
    lastTimestamp: instant('last_timestamp'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  },
  (table) => [
    index('monitors_account_idx').on(table.accountId, table.createdAt.desc(), table.id.desc()),
    index('monitors_source_idx')
      .on(table.accountId, table.source)
      .where(sql`${table.source} is not null`),
    // The maintenance clock reads these twice a second.
    index('monitors_maintenance_idx')
      .on(table.id)
      .where(sql`${table.status} = 'MAINTENANCE'`),
    uniqueIndex('monitors_external_id_key')
      .on(table.accountId, table.externalId)
      .where(sql`${table.externalId} is not null`),
  ],
);
/** The monitor that a row belongs to, and is deleted with. */
export function monitorId(): ReturnType<typeof ownerId<'monitor_id'>> {
  return ownerId('monitor_id', () => monitors.id);
}

export type MonitorRow = typeof monitors.$inferSelect;

/** Deleted monitors that may have left events, rollups or incidents: there may be too many of those for one transaction. */
export const deletedMonitors = pgTable('deleted_monitors', {
  monitorId: uuid('monitor_id').primaryKey(),
  deletedAt: instant('deleted_at').notNull().default(clockNow),
});
