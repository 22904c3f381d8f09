import type { CheckSource, CheckStatus, ErrorReason } from '@tocsin/contracts/vocabulary';
import { pgTable, primaryKey } from 'drizzle-orm/pg-core';
import { instant } from '../database/sql.ts';

/** One row per executed check, partitioned by day. Without a foreign key: the monitor's row lock keeps both consistent at no cost. */
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
    /** The check failed while its region had no network: it counts for no status and no statistics. */
    inconclusive: t.boolean('inconclusive').notNull().default(false),
    /** What the target sent: kept of the first failed check of a region. */
    sealedResponse: t.text('sealed_response'),
    region: t.text('region').notNull(),
    source: t.text('source').$type<CheckSource>().notNull(),
    /** The planned time of a scheduled check; null for a triggered one. */
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
