import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';
import { countSlots, type Span } from './slots.ts';
import { distributionOf, type Distribution } from './percentiles.ts';

/** How large the event table is, with its indexes, over all its partitions. */
export interface EventTable {
  readonly events: number;
  readonly bytes: number;
}

export async function readEventTable(pool: Pool): Promise<EventTable> {
  const { rows } = await pool.query<{ events: string; bytes: string }>(
    `select (select count(*) from events) as events, sum(pg_total_relation_size(inhrelid)) as bytes
     from pg_inherits where inhparent = 'events'::regclass`,
  );
  return { events: Number(rows[0]?.events), bytes: Number(rows[0]?.bytes) };
}

export interface RecordedChecks {
  /** Events stamped within the span. */
  readonly recorded: number;
  /** Of those, how many are not UP. */
  readonly failed: number;
  /** Slots within the span without an event, even a late one. */
  readonly missed: number;
  readonly expected: number;
  /** From the slot to the stamp of the event, without the probe but with the wait for the batch; ms. */
  readonly recordedAfterMs: Distribution;
}

/** A check that starts later than this is skipped, so its slot has no event. */
const MAX_LATE_MS = 15_000;
const POLL_MS = 1_000;

/** Reads the events of a past span of time, once its checks are recorded or too late. */
export async function readRecordedChecks(
  pool: Pool,
  monitorIds: readonly string[],
  intervalSeconds: number,
  span: Span,
): Promise<RecordedChecks> {
  const deadline = span.to + MAX_LATE_MS;
  for (;;) {
    await wait(POLL_MS);
    const checks = await readNow(pool, monitorIds, intervalSeconds, span);
    if (checks.missed <= 0 || Date.now() > deadline) return checks;
  }
}

async function readNow(
  pool: Pool,
  monitorIds: readonly string[],
  intervalSeconds: number,
  span: Span,
): Promise<RecordedChecks> {
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
  const expected = countSlots(monitorIds, intervalSeconds * 1_000, span);
  return {
    recorded: Number(stamped.rows[0]?.recorded),
    failed: Number(stamped.rows[0]?.failed),
    missed: expected - planned.rows.length,
    expected,
    recordedAfterMs: distributionOf(planned.rows.map((row) => row.after)),
  };
}

/** The most events that were stamped within one second of a span. */
export async function readPeakRate(pool: Pool, span: Span): Promise<number> {
  const { rows } = await pool.query<{ events: string }>(
    `select count(*) as events from events where timestamp >= $1 and timestamp < $2
     group by date_trunc('second', timestamp) order by count(*) desc limit 1`,
    [new Date(span.from), new Date(span.to)],
  );
  return Number(rows[0]?.events ?? Number.NaN);
}
