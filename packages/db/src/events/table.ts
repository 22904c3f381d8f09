import type { CheckSource, CheckStatus, ErrorReason } from '@tocsin/contracts/vocabulary';
import { integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instant } from '../database/sql.ts';

/** One row per executed check, partitioned by day. Without a foreign key: the monitor's row lock keeps both consistent at no cost. */
export const events = pgTable(
  'events',
  {
    monitorId: uuid('monitor_id').notNull(),
    timestamp: instant('timestamp').notNull(),
    id: uuid('id').notNull(),
    status: text('status').$type<CheckStatus>().notNull(),
    latencyMs: integer('latency_ms').notNull(),
    statusCode: integer('status_code'),
    errorReason: text('error_reason').$type<ErrorReason>(),
    errorDetail: text('error_detail'),
    region: text('region').notNull(),
    source: text('source').$type<CheckSource>().notNull(),
    /** The planned time of a scheduled check; null for a triggered one. */
    slot: instant('slot'),
    /** Null unless a trigger overrode the monitor's URL. */
    url: text('url'),
    dnsMs: integer('dns_ms'),
    tcpMs: integer('tcp_ms'),
    tlsMs: integer('tls_ms'),
    firstByteMs: integer('first_byte_ms'),
    downloadMs: integer('download_ms'),
  },
  (table) => [primaryKey({ columns: [table.monitorId, table.timestamp] })],
);
export type EventRow = typeof events.$inferSelect;
