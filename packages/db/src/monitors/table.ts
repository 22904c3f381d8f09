import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Assertions } from '@tocsin/contracts/monitors/assertions';
import type { TlsSettings } from '@tocsin/contracts/monitors/connection';
import type { HttpMethod, MonitorStatus } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { boolean, index, pgTable, uniqueIndex } from 'drizzle-orm/pg-core';
import { clockNow, instant, ownerId, primaryId } from '../database/sql.ts';
import { accountId } from '../users/table.ts';

/** Transactions that write the status, regions, incidents or events of a monitor lock its row. Each header value is sealed separately. */
export const monitors = pgTable(
  'monitors',
  (t) => ({
    id: primaryId(),
    accountId: accountId(),
    name: t.text('name').notNull(),
    url: t.text('url').notNull(),
    type: t.text('type').notNull(),
    intervalSeconds: t.integer('interval_seconds').notNull(),
    timeoutSeconds: t.integer('timeout_seconds').notNull(),
    /** False while the monitor is paused. It then has no running spans. */
    enabled: t.boolean('enabled').notNull().default(true),
    method: t.text('method').$type<HttpMethod>().notNull(),
    sealedHeaders: t.jsonb('sealed_headers').$type<Record<string, string>>(),
    sealedBody: t.text('sealed_body'),
    followRedirects: t.boolean('follow_redirects').notNull().default(true),
    ipFamily: t.integer('ip_family').$type<4 | 6>(),
    connectTo: t.text('connect_to'),
    /** Without the key of the client certificate, which is sealed. */
    tls: t.jsonb('tls').$type<Omit<TlsSettings, 'key'>>(),
    sealedTlsKey: t.text('sealed_tls_key'),
    assertions: t.jsonb('assertions').$type<Assertions>(),
    failureThreshold: t.integer('failure_threshold').notNull(),
    /** Null for no extra checks while a region fails. */
    retryIntervalSeconds: t.integer('retry_interval_seconds'),
    recoveryThreshold: t.integer('recovery_threshold').notNull().default(1),
    /** Regions as the user named them. Empty for the default region. */
    regions: t.text('regions').array().notNull(),
    runbookUrl: t.text('runbook_url'),
    externalId: t.text('external_id'),
    source: t.text('source'),
    labels: t.jsonb('labels').$type<Labels>().notNull().default({}),
    /** Incremented by every change. */
    revision: t.integer('revision').notNull().default(1),
    /** Revision that last changed what a probe does or requires, such as url or assertions. */
    probeRevision: t.integer('probe_revision').notNull().default(1),
    status: t.text('status').$type<MonitorStatus>().notNull().default('PENDING'),
    statusSince: instant('status_since').notNull().default(clockNow),
    /** The status that maintenance hides. Null without maintenance. */
    statusBeforeMaintenance: t.text('status_before_maintenance').$type<'PENDING' | 'UP' | 'DOWN'>(),
    /** Why the monitor is DOWN, or was DOWN before maintenance. Null for any other status. */
    errorDetail: t.text('error_detail'),
    /** Incidents opened so far, including deleted ones. */
    incidentCount: t.bigint('incident_count', { mode: 'number' }).notNull().default(0),
    lastCheckedAt: instant('last_checked_at'),
    /** The monitor's clock, which is its last timestamp of an event or a webhook event. */
    lastTimestamp: instant('last_timestamp'),
    createdAt: instant('created_at').notNull().default(clockNow),
    updatedAt: instant('updated_at').notNull().default(clockNow),
  }),
  (table) => [
    index('monitors_account_idx').on(table.accountId, table.createdAt.desc(), table.id.desc()),
    index('monitors_source_idx')
      .on(table.accountId, table.source)
      .where(sql`${table.source} is not null`),
    // The maintenance clock reads this index twice a second.
    index('monitors_maintenance_idx')
      .on(table.id)
      .where(sql`${table.status} = 'MAINTENANCE'`),
    uniqueIndex('monitors_external_id_key')
      .on(table.accountId, table.externalId)
      .where(sql`${table.externalId} is not null`),
  ],
);
/** Owning monitor. Rows are deleted with it. */
export function monitorId(): ReturnType<typeof ownerId<'monitor_id'>> {
  return ownerId('monitor_id', () => monitors.id);
}

/** Reasons to assign a monitor to a channel or a maintenance window. At least one is true. */
export const assignmentColumns = {
  /** True if assigned by id. */
  listed: boolean('listed').notNull().default(true),
  /** True if assigned by a selector. */
  matched: boolean('matched').notNull().default(false),
};

export type MonitorRow = typeof monitors.$inferSelect;

/** Deleted monitors with remaining events, rollups or incidents, which may be too many for one transaction. */
export const deletedMonitors = pgTable('deleted_monitors', (t) => ({
  monitorId: t.uuid('monitor_id').primaryKey(),
  deletedAt: instant('deleted_at').notNull().default(clockNow),
}));
