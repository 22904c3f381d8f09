import type { CheckSource, CheckStatus, ErrorReason } from '@tocsin/contracts/vocabulary';
import { pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { instant } from '../database/sql.ts';

/** Checks of the last days. Without a foreign key, because the row lock of the monitor already keeps both consistent. */
export const events = pgTable(
  'events',
  (t) => ({
    monitorId: t.uuid('monitor_id').notNull(),
    timestamp: instant('timestamp').notNull(),
    id: t.uuid('id').notNull(),
    status: t.text('status').$type<CheckStatus>().notNull(),
    latencyMs: t.integer('latency_ms').notNull(),
    statusCode: t.integer('status_code'),
    errorReason: t.text('error_reason').$type<ErrorReason>(),
    errorDetail: t.text('error_detail'),
    /** True if the check failed because of its checker or its region's network. It then does not affect the status or the statistics. */
    inconclusive: t.boolean('inconclusive').notNull().default(false),
    /** Response of the target, kept only for a region's first failed check. */
    sealedResponse: t.text('sealed_response'),
    region: t.text('region').notNull(),
    source: t.text('source').$type<CheckSource>().notNull(),
    /** Planned time of a scheduled check. Null for a triggered check. */
    slot: instant('slot'),
    /** Null unless a trigger overrode the monitor's URL. */
    url: t.text('url'),
    dnsMs: t.integer('dns_ms'),
    tcpMs: t.integer('tcp_ms'),
    tlsMs: t.integer('tls_ms'),
    firstByteMs: t.integer('first_byte_ms'),
    downloadMs: t.integer('download_ms'),
  }),
  (table) => [primaryKey({ columns: [table.monitorId, table.timestamp] })],
);
export type EventRow = typeof events.$inferSelect;

/**
 * Packed events of closed partitions (ADR 27), read through the view `packed_events`. A row has consecutive events of one monitor as one
 * array per column, or null for a column without values. Blocks of a monitor do not overlap, and none crosses the end of a partition.
 */
export const eventBlocks = pgTable(
  'event_blocks',
  (t) => ({
    monitorId: t.uuid('monitor_id').notNull(),
    /** Timestamp of the first event. `ends_at` has the last one. */
    startsAt: instant('starts_at').notNull(),
    endsAt: instant('ends_at').notNull(),
    /** Milliseconds since the previous slot of the block, or since `starts_at`. */
    slotSteps: t.bigint('slot_steps', { mode: 'number' }).array(),
    /** Milliseconds from the slot, or from `starts_at` without one, to the timestamp. */
    delays: t.bigint('delays', { mode: 'number' }).array().notNull(),
    /** Null for an id that `event_id` derives. */
    id: t.uuid('id').array(),
    status: t.text('status').array(),
    latencyMs: t.integer('latency_ms').array(),
    statusCode: t.integer('status_code').array(),
    errorReason: t.text('error_reason').array(),
    errorDetail: t.text('error_detail').array(),
    inconclusive: t.boolean('inconclusive').array(),
    sealedResponse: t.text('sealed_response').array(),
    region: t.text('region').array(),
    source: t.text('source').array(),
    url: t.text('url').array(),
    dnsMs: t.integer('dns_ms').array(),
    tcpMs: t.integer('tcp_ms').array(),
    tlsMs: t.integer('tls_ms').array(),
    firstByteMs: t.integer('first_byte_ms').array(),
    downloadMs: t.integer('download_ms').array(),
  }),
  (table) => [primaryKey({ columns: [table.monitorId, table.endsAt] })],
);
