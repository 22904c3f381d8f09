import { sql } from 'drizzle-orm';
import { index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { clockNow, instant } from '../database/columns.ts';
import { monitors } from '../monitors/table.ts';

/**
 * Which checks should happen (ADR 8): from `startsAt` until before `endsAt` a region is to check a monitor at the epoch
 * milliseconds that leave `phaseMs` modulo the interval. Spans of one monitor and region never overlap.
 */
export const scheduleSpans = pgTable(
  'schedule_spans',
  {
    monitorId: uuid('monitor_id')
      .notNull()
      .references(() => monitors.id, { onDelete: 'cascade' }),
    region: text('region').notNull(),
    startsAt: instant('starts_at').notNull().default(clockNow),
    /** Null while it runs. */
    endsAt: instant('ends_at'),
    intervalSeconds: integer('interval_seconds').notNull(),
    phaseMs: integer('phase_ms').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.monitorId, table.region, table.startsAt] }),
    uniqueIndex('schedule_spans_one_running_key')
      .on(table.monitorId, table.region)
      .where(sql`${table.endsAt} is null`),
    index('schedule_spans_wave_idx')
      .on(table.region, table.intervalSeconds, table.phaseMs, table.monitorId)
      .where(sql`${table.endsAt} is null`),
  ],
);
