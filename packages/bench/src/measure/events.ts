import { setTimeout as wait } from 'node:timers/promises';
import { countSlots, type Span } from '@tocsin/lab/slots';
import type { Pool } from 'pg';
import { distributionOf } from './percentiles.ts';

/** Slots of a span that have no event this long after its end count as missed. */
const MAX_LATE_MS = 15_000;
const POLL_MS = 1_000;

/** Reads the number of events, and their size on disk with the index. @param table of raw events or of blocks of packed events */
export async function readEventTable(
  pool: Pool,
  table: 'events' | 'event_blocks' = 'events',
): Promise<{ events: number; bytes: number }> {
  const count = table === 'events' ? 'count(*)' : 'coalesce(sum(cardinality(delays)), 0)';
  const { rows } = await pool.query<Record<'events' | 'bytes', string>>(
    `select (select ${count} from ${table}) as events,
       (select coalesce(sum(pg_total_relation_size(inhrelid)), 0) from pg_inherits where inhparent = '${table}'::regclass) as bytes`,
  );
  return { events: Number(rows[0]?.events), bytes: Number(rows[0]?.bytes) };
}

/** The checks of a span. */
export interface RecordedChecks {
  readonly expected: number;
  /** Events with a timestamp within the span, and failures among them. */
  readonly recorded: number;
  readonly failed: number;
  /** Slots within the span without an event, even a late one. */
  readonly missed: number;
  /** Milliseconds from the slot to the timestamp of the event, without the probe but with the wait for the batch. */
  readonly recordedAfterMs: ReturnType<typeof distributionOf>;
}

/** Reads the events of a past span, once all its checks are recorded or count as missed. */
export async function readRecordedChecks(
  pool: Pool,
  monitorIds: readonly string[],
  intervalSeconds: number,
  span: Span,
): Promise<RecordedChecks> {
  const expected = countSlots(monitorIds, intervalSeconds * 1_000, span);
  for (;;) {
    await wait(POLL_MS);
    const checks = await readNow(pool, expected, span);
    if (checks.missed <= 0 || Date.now() > span.to + MAX_LATE_MS) return checks;
  }
}

async function readNow(pool: Pool, expected: number, span: Span): Promise<RecordedChecks> {
  const range = [new Date(span.from), new Date(span.to)];
  const stamped = await pool.query<{ recorded: string; failed: string }>(
    `select count(*) as recorded, count(*) filter (where status <> 'UP') as failed
     from events where timestamp >= $1 and timestamp < $2`,
    range,
  );
  // A check may be recorded some time after its slot.
  const planned = await pool.query<{ after: number }>(
    `select (extract(epoch from timestamp - slot) * 1000 - latency_ms)::float8 as after
     from events where slot >= $1 and slot < $2 and timestamp >= $1`,
    range,
  );
  return {
    expected,
    recorded: Number(stamped.rows[0]?.recorded),
    failed: Number(stamped.rows[0]?.failed),
    missed: expected - planned.rows.length,
    recordedAfterMs: distributionOf(planned.rows.map((row) => row.after)),
  };
}

/** Returns the number of events in the busiest second of a span. */
export async function readPeakRate(pool: Pool, span: Span): Promise<number> {
  const { rows } = await pool.query<{ events: string }>(
    `select count(*) as events from events where timestamp >= $1 and timestamp < $2
     group by date_trunc('second', timestamp) order by count(*) desc limit 1`,
    [new Date(span.from), new Date(span.to)],
  );
  return Number(rows[0]?.events ?? Number.NaN);
}
