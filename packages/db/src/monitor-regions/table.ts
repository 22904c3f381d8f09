import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, uniqueIndex } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/sql.ts';
import { monitorId } from '../monitors/table.ts';

/** Last results from each region that checks a monitor, and the revision of its schedule. */
export const monitorRegions = pgTable(
  'monitor_regions',
  (t) => ({
    monitorId: monitorId(),
    region: t.text('region').notNull(),
    /** Revision whose schedule is in the queue's store. Null without one, or if the monitor has changed since. */
    scheduledRevision: t.integer('scheduled_revision'),
    /** When the region was assigned, its streak was reset, or another region reported first after a silence of all regions. */
    since: instant('since').notNull().default(clockNow),
    consecutiveFailures: t.integer('consecutive_failures').notNull().default(0),
    /** Consecutive passes of a region that still counts as failing. Null if it does not, or its last check failed at the threshold. */
    recoveryPasses: t.integer('recovery_passes'),
    /** Last conclusive result. */
    lastResultAt: instant('last_result_at'),
    /** Last result, conclusive or not. */
    lastCheckedAt: instant('last_checked_at'),
    lastLatencyMs: t.integer('last_latency_ms'),
    lastErrorReason: t.text('last_error_reason').$type<ErrorReason>(),
    lastErrorDetail: t.text('last_error_detail'),
    /** Certificate expiry from the latest check whose last hop used TLS. Null if there has been none since the URL was last changed. */
    certificateExpiresAt: instant('certificate_expires_at'),
    /** Epoch milliseconds of the last few recorded slots. A result for one of them is dropped. */
    recentSlots: t.bigint('recent_slots', { mode: 'number' }).array().notNull().default([]),
    /**
     * True if the last result was inconclusive because a second probe did not confirm the failure. If the next result is doubtful too, it
     * counts. Failures of the checker itself leave this unchanged.
     */
    doubtful: t.boolean('doubtful').notNull().default(false),
    /** Counters of recorded checks, except checks of another URL. They never decrease. */
    upChecks: t.bigint('up_checks', { mode: 'number' }).notNull().default(0),
    downChecks: t.bigint('down_checks', { mode: 'number' }).notNull().default(0),
    inconclusiveChecks: t.bigint('inconclusive_checks', { mode: 'number' }).notNull().default(0),
    /** Checks with a response by bucket of `DURATION_BOUNDS_MS`. The last bucket has no bound. */
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
    // This index is read every few seconds and is nearly always empty.
    index('monitor_regions_unscheduled_idx')
      .on(table.region, table.monitorId)
      .where(sql`${table.scheduledRevision} is null`),
  ],
);
export type MonitorRegionRow = typeof monitorRegions.$inferSelect;

/** Planned checks (ADR 8). They are due at epoch milliseconds that equal `offsetMs` modulo the interval. Spans do not overlap. */
export const scheduleSpans = pgTable(
  'schedule_spans',
  (t) => ({
    monitorId: monitorId(),
    region: t.text('region').notNull(),
    startsAt: instant('starts_at').notNull().default(clockNow),
    endsAt: instant('ends_at'),
    intervalSeconds: t.integer('interval_seconds').notNull(),
    offsetMs: t.integer('phase_ms').notNull(),
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
