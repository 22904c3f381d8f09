import type { Span } from '@tocsin/lab/slots';
import type { Client } from 'pg';

/** Slots without an event this long after their window, besides the timeout of a check, count as missed. */
const MAX_LATE_MS = 15_000;
/** Postgres groups the events of a window by monitor. */
const WORK_MEMORY = '128MB';

export interface FleetIds {
  readonly all: readonly string[];
  readonly hanging: readonly string[];
  readonly flapping: readonly string[];
}

/** The events of a window of slots. */
export interface WindowCounts {
  readonly expected: number;
  readonly missed: number;
  /** Events of a slot that already has one. */
  readonly repeated: number;
  /** Failed checks of targets that are always up. */
  readonly falseFailures: number;
  /** Reason of one false failure. */
  readonly failureReason: string | null;
  /** Passed checks of targets that never respond. */
  readonly falsePasses: number;
  /** Longest time from a slot to its event, without the probe, in milliseconds. */
  readonly maxRecordedAfterMs: number;
}

/** Returns when the counts of a window are final, in epoch milliseconds. */
export function settledAt(window: Span, timeoutSeconds: number): number {
  return window.to + timeoutSeconds * 1_000 + MAX_LATE_MS;
}

/** Splits a span into windows of whole intervals, in which each monitor has the same number of slots. */
export function windowsOf({ from, to }: Span, intervalMs: number, intervalsPerWindow: number): Span[] {
  const windows: Span[] = [];
  for (let start = from; start + intervalMs <= to; start = windows.at(-1)?.to ?? to) {
    const intervals = Math.min(intervalsPerWindow, Math.floor((to - start) / intervalMs));
    windows.push({ from: start, to: start + intervals * intervalMs });
  }
  return windows;
}

/**
 * Counts the events of a settled window. Retention drops events during a run, so each window is read while they are recent. A monitor's
 * slots of the window are the bits of a mask, so that one pass over the events finds missed and repeated slots.
 */
export async function countWindow(
  client: Client,
  ids: FleetIds,
  window: Span,
  intervalSeconds: number,
  timeoutSeconds: number,
): Promise<WindowCounts> {
  await client.query(`set work_mem = '${WORK_MEMORY}'`);
  const { rows } = await client.query<Record<string, string | null>>(
    `select sum(bit_count(slots::bit(32))) as slots, sum(events) as events, sum(failures) as failures, max(reason) as reason,
       sum(passes) as passes, max(after) as after
     from (
       select bit_or(1 << floor(extract(epoch from slot - $1) / $4::float8)::int) as slots, count(*) as events,
         count(*) filter (where is_false_failure) as failures,
         max(coalesce(error_detail, error_reason)) filter (where is_false_failure) as reason,
         count(*) filter (where status = 'UP' and monitor_id = any($5)) as passes,
         max(extract(epoch from timestamp - slot) * 1000 - latency_ms) as after
       from events
       cross join lateral (
         select status <> 'UP' and monitor_id <> all($5) and monitor_id <> all($6) as is_false_failure) as derived
       where timestamp >= $1 and timestamp < $3 and slot >= $1 and slot < $2
       group by monitor_id) as monitor`,
    [
      new Date(window.from),
      new Date(window.to),
      new Date(settledAt(window, timeoutSeconds)),
      intervalSeconds,
      ids.hanging,
      ids.flapping,
    ],
  );
  const read = (name: string): number => Number(rows[0]?.[name]);
  const expected = (ids.all.length * (window.to - window.from)) / (intervalSeconds * 1_000);
  return {
    expected,
    missed: expected - read('slots'),
    repeated: read('events') - read('slots'),
    falseFailures: read('failures'),
    failureReason: rows[0]?.['reason'] ?? null,
    falsePasses: read('passes'),
    maxRecordedAfterMs: read('after'),
  };
}
