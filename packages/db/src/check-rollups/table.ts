import { sql } from 'drizzle-orm';
import { check, pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { instant } from '../database/sql.ts';

/** Checks of a monitor from a region in one UTC hour (ADR 8), excluding checks of another URL. Partitioned by month. */
export const checkRollups = pgTable(
  'check_rollups',
  (t) => ({
    monitorId: t.uuid('monitor_id').notNull(),
    region: t.text('region').notNull(),
    hour: instant('hour').notNull(),
    checks: t.integer('checks').notNull(),
    failures: t.integer('failures').notNull(),
    /** Counted neither as checks nor as failures, because the checker or the network of the region failed. */
    inconclusive: t.integer('inconclusive').notNull().default(0),
    /** Planned slots of the hour without a check. */
    gaps: t.integer('gaps').notNull(),
    /** Latencies of checks with a response, as buckets of `LATENCY_BOUNDS` and the number of checks in each. */
    latencyBuckets: t.smallint('latency_buckets').array().notNull(),
    latencyCounts: t.integer('latency_counts').array().notNull(),
    /** Checks with a response, whose timings are summed. A missing timing counts as 0. */
    timedChecks: t.integer('timed_checks').notNull(),
    dnsSumMs: t.bigint('dns_sum_ms', { mode: 'number' }).notNull(),
    tcpSumMs: t.bigint('tcp_sum_ms', { mode: 'number' }).notNull(),
    tlsSumMs: t.bigint('tls_sum_ms', { mode: 'number' }).notNull(),
    firstByteSumMs: t.bigint('first_byte_sum_ms', { mode: 'number' }).notNull(),
    downloadSumMs: t.bigint('download_sum_ms', { mode: 'number' }).notNull(),
  }),
  (table) => [primaryKey({ columns: [table.monitorId, table.region, table.hour] })],
);

/** Sums of `check_rollups` over the regions and hours of a UTC day, so that long periods are quick to sum up. Partitioned by month. */
export const checkDays = pgTable(
  'check_days',
  (t) => ({
    monitorId: t.uuid('monitor_id').notNull(),
    day: instant('day').notNull(),
    checks: t.integer('checks').notNull(),
    failures: t.integer('failures').notNull(),
    gaps: t.integer('gaps').notNull(),
  }),
  (table) => [primaryKey({ columns: [table.monitorId, table.day] })],
);

/** A single row with the progress of the roll-up. A transaction that writes rollups holds its lock. */
export const checkRollupState = pgTable(
  'check_rollup_state',
  (t) => ({
    singleton: t.boolean('singleton').primaryKey().default(true),
    /** First hour that is not rolled up. */
    rolledUntil: instant('rolled_until').notNull(),
    /** First day that is not summed up. Null before the first one. */
    summedUntil: instant('summed_until'),
    /** Gaps of the last rolled-up hour by region. Regions without gaps are omitted. */
    lastGaps: t.jsonb('last_gaps').$type<Record<string, number>>().notNull().default({}),
    /** Total time that leaders have run while `rolledUntil` lagged suspiciously far behind PostgreSQL's clock. 0 if `rolledUntil` is recent. */
    clockDoubtedMs: t.integer('clock_doubted_ms').notNull().default(0),
  }),
  (table) => [check('check_rollup_state_one_row', sql`${table.singleton}`)],
);
