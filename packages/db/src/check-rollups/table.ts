import { sql } from 'drizzle-orm';
import { check, pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { instant } from '../database/sql.ts';

/**
 * The checks of a monitor from a region in one UTC hour (ADR 8), without triggered checks of another URL. Partitioned by month. Like
 * `events` without a foreign key: `purgeDeletedMonitors` deletes the rollups of a deleted monitor.
 */
export const checkRollups = pgTable(
  'check_rollups',
  (t) => ({
    monitorId: t.uuid('monitor_id').notNull(),
    region: t.text('region').notNull(),
    hour: instant('hour').notNull(),
    checks: t.integer('checks').notNull(),
    failures: t.integer('failures').notNull(),
    /** Neither checks nor failures: the checker or the network of the region failed. */
    inconclusive: t.integer('inconclusive').notNull().default(0),
    /** Planned slots of the hour without a check. */
    gaps: t.integer('gaps').notNull(),
    /** Latencies of the checks that got a response: buckets of `LATENCY_BOUNDS`, and the number of checks in each. */
    latencyBuckets: t.smallint('latency_buckets').array().notNull(),
    latencyCounts: t.integer('latency_counts').array().notNull(),
    /** Checks that got a response, whose phases are summed. A skipped phase counts as 0. */
    timedChecks: t.integer('timed_checks').notNull(),
    dnsSumMs: t.bigint('dns_sum_ms', { mode: 'number' }).notNull(),
    tcpSumMs: t.bigint('tcp_sum_ms', { mode: 'number' }).notNull(),
    tlsSumMs: t.bigint('tls_sum_ms', { mode: 'number' }).notNull(),
    firstByteSumMs: t.bigint('first_byte_sum_ms', { mode: 'number' }).notNull(),
    downloadSumMs: t.bigint('download_sum_ms', { mode: 'number' }).notNull(),
  }),
  (table) => [primaryKey({ columns: [table.monitorId, table.region, table.hour] })],
);

/** One row: how far the events are rolled up. A transaction that writes rollups holds its lock. */
export const checkRollupState = pgTable(
  'check_rollup_state',
  (t) => ({
    singleton: t.boolean('singleton').primaryKey().default(true),
    /** The start of the first hour that is not rolled up. */
    rolledUntil: instant('rolled_until').notNull(),
    /** Gaps of the last hour rolled up, by region; regions without any are left out. */
    lastGaps: t.jsonb('last_gaps').$type<Record<string, number>>().notNull().default({}),
    /** The total time that leaders have run while `rolledUntil` lagged suspiciously far behind Postgres' clock; 0 if it is recent. */
    clockDoubtedMs: t.integer('clock_doubted_ms').notNull().default(0),
  }),
  (table) => [check('check_rollup_state_one_row', sql`${table.singleton}`)],
);
