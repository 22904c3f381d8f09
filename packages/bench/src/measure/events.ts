import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';
import { distributionOf } from './percentiles.ts';
import { countSlots, type Span } from '@tocsin/lab/slots';

/** Slots of a span that have no event this long after its end count as missed. */
const MAX_LATE_MS = 15_000;
const POLL_MS = 1_000;

/** Raw and packed events: with short partitions, those of a long run are packed while it lasts. */
const STORED = ['events', 'packed_events']
  .map((table) => `select timestamp, slot, status, latency_ms from ${table}`)
  .join(' union all ');

/** How large the table of events is, with its index, over all partitions. */
export async function readEventTable(pool: Pool): Promise<{ events: number; bytes: number }> {
  return readTable(pool, 'events', 'select count(*) from events');
}

/** The same of packed events. */
export async function readPackedEvents(pool: Pool): Promise<{ events: number; bytes: number }> {
  return readTable(pool, 'event_blocks', 'select coalesce(sum(cardinality(delays)), 0) from event_blocks');
}

async function readTable(pool: Pool, table: string, count: string) {
  const { rows } = await pool.query<Record<'events' | 'bytes', string>>(
    `select (${count}) as events,
       (select coalesce(sum(pg_total_relation_size(inhrelid)), 0) from pg_inherits where inhparent = '${table}'::regclass) as bytes`,
  );
  const [row] = rows;
  return { events: Number(row?.events), bytes: Number(row?.bytes) };
}

export type RecordedChecks = Awaited<ReturnType<typeof readNow>>;

/** Reads the events of a past span of time, once all its checks are recorded or count as missed. */
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

async function readNow(pool: Pool, expected: number, span: Span) {
  const range = [new Date(span.from), new Date(span.to)];
  const stamped = await pool.query<{ recorded: string; failed: string }>(
    `select count(*) as recorded, count(*) filter (where status <> 'UP') as failed
     from (${STORED}) e where timestamp >= $1 and timestamp < $2`,
    range,
  );
  // A check may be recorded some time after its slot.
  const planned = await pool.query<{ after: number }>(
    `select (extract(epoch from timestamp - slot) * 1000 - latency_ms)::float8 as after
     from (${STORED}) e where slot >= $1 and slot < $2 and timestamp >= $1`,
    range,
  );
  return {
    /** Events with a timestamp within the span, and how many of those are not UP. */
    recorded: Number(stamped.rows[0]?.recorded),
    failed: Number(stamped.rows[0]?.failed),
    expected,
    /** Slots within the span without an event, even a late one. */
    missed: expected - planned.rows.length,
    /** From the slot to the timestamp of the event, without the probe but with the wait for the batch; ms. */
    recordedAfterMs: distributionOf(planned.rows.map((row) => row.after)),
  };
}

/** The number of events in the busiest second of a span. */
export async function readPeakRate(pool: Pool, span: Span): Promise<number> {
  const { rows } = await pool.query<{ events: string }>(
    `select count(*) as events from (${STORED}) e where timestamp >= $1 and timestamp < $2
     group by date_trunc('second', timestamp) order by count(*) desc limit 1`,
    [new Date(span.from), new Date(span.to)],
  );
  return Number(rows[0]?.events ?? Number.NaN);
}
