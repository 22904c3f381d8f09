import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, uniqueIndex } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/sql.ts';
import { monitorId } from '../monitors/table.ts';

/** One row per monitor and region that checks it: the region's last results, and the revision of its schedule. */
export const monitorRegions = pgTable(
  'monitor_regions',
  (t) => ({
    monitorId: monitorId(),
    region: t.text('region').notNull(),
    /** The revision whose schedule is in the queue's store; null: none, or the monitor has changed since. */
    scheduledRevision: t.integer('scheduled_revision'),
    /** When the region was assigned, its streak was reset, or another region reported first after a silence of all regions. */
    since: instant('since').notNull().default(clockNow),
    consecutiveFailures: t.integer('consecutive_failures').notNull().default(0),
    /** Consecutive passes of a region that still counts as failing; null: it does not, or its last check failed at the threshold. */
    recoveryPasses: t.integer('recovery_passes'),
    /** The last conclusive result. */
    lastResultAt: instant('last_result_at'),
    /** The last result, conclusive or not. */
    lastCheckedAt: instant('last_checked_at'),
    lastLatencyMs: t.integer('last_latency_ms'),
    lastErrorReason: t.text('last_error_reason').$type<ErrorReason>(),
    lastErrorDetail: t.text('last_error_detail'),
    /** From the last hop of the last check with a TLS connection; null: none since the URL was set. */
    certificateExpiresAt: instant('certificate_expires_at'),
    /** Epoch milliseconds of the last few recorded slots: a result in one of them is dropped. */
    recentSlots: t.bigint('recent_slots', { mode: 'number' }).array().notNull().default([]),
    /** Whether the last result was inconclusive because the target responded to a second probe. The next such one counts. */
    doubtful: t.boolean('doubtful').notNull().default(false),
    /** Counters of recorded checks, without those of another URL. They never decrease. */
    upChecks: t.bigint('up_checks', { mode: 'number' }).notNull().default(0),
    downChecks: t.bigint('down_checks', { mode: 'number' }).notNull().default(0),
    inconclusiveChecks: t.bigint('inconclusive_checks', { mode: 'number' }).notNull().default(0),
    /** Of the checks with a response, by bucket of `DURATION_BOUNDS_MS`; the last one has no bound. */
    durationCounts: t
      .bigint('duration_counts', { mode: 'number' })
      .array()
      .notNull()
      .default([0, 0, 0, 0, 0, 0, 0, 0]),
    durationSumMs: t.bigint('duration_sum_ms', { mode: 'number' }).notNull().default(0),
  }),
  (table) => [
    primaryKey({ columns: [table.monitorId, table.region] }),
    index('monitor_regions_region_idx').on(table.region),
    // Read every few seconds, and nearly always empty.
    index('monitor_regions_unscheduled_idx')
      .on(table.region, table.monitorId)
      .where(sql`${table.scheduledRevision} is null`),
  ],
);
export type MonitorRegionRow = typeof monitorRegions.$inferSelect;

/**
 * The planned checks (ADR 8): from `startsAt` to `endsAt` (exclusive) a region checks a monitor at the epoch milliseconds that equal
 * `offsetMs` modulo the interval, without overlaps.
 */
export const scheduleSpans = pgTable(
  'schedule_spans',
  (t) => ({
    monitorId: monitorId(),
    region: t.text('region').notNull(),
    startsAt: instant('starts_at').notNull().default(clockNow),
    /** Null while it runs. */
    endsAt: instant('ends_at'),
    intervalSeconds: t.integer('interval_seconds').notNull(),
    offsetMs: t.integer('offset_ms').notNull(),
  }),
  (table) => [
    primaryKey({ columns: [table.monitorId, table.region, table.startsAt] }),
    uniqueIndex('schedule_spans_one_running_key')
      .on(table.monitorId, table.region)
      .where(sql`${table.endsAt} is null`),
    index('schedule_spans_wave_idx')
      .on(table.region, table.intervalSeconds, table.offsetMs, table.monitorId)
      .where(sql`${table.endsAt} is null`),
  ],
);
