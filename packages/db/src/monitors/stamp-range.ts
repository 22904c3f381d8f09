import { sql, type SQL } from 'drizzle-orm';
import { columnOf } from '../database/arrays.ts';

/** What is wanted of one monitor's records: those stamped after one instant, up to another, in epoch milliseconds. */
export interface StampRange {
  readonly monitorId: string;
  /** Exclusive; null: from the first. */
  readonly after: number | null;
  readonly upTo: number;
}

/** The ranges as a table `r (monitor_id, after, up_to)`. */
export function stampRanges(ranges: readonly StampRange[]): SQL {
  return sql`unnest(
    ${columnOf(ranges, 'uuid', (range) => range.monitorId)},
    ${columnOf(ranges, 'timestamptz', ({ after }) => toTimestamp(after))},
    ${columnOf(ranges, 'timestamptz', ({ upTo }) => toTimestamp(upTo))}
  ) as r (monitor_id, after, up_to)`;
}

/**
 * Whether a stamp is in the range of its row. The bounds of all ranges together say so to the planner, too: it leaves out
 * the partitions of other days.
 */
export function isInRange(ranges: readonly StampRange[], stamp: SQL): SQL {
  const starts = ranges.map(({ after }) => after ?? -Infinity);
  const earliest = starts.reduce((one, other) => Math.min(one, other), Infinity);
  const latest = ranges.reduce((most, { upTo }) => Math.max(most, upTo), 0);
  return sql`${stamp} > r.after and ${stamp} <= r.up_to
    and ${stamp} > ${toTimestamp(earliest)}::timestamptz and ${stamp} <= ${toTimestamp(latest)}::timestamptz`;
}

function toTimestamp(time: number | null): string {
  return time === null || time === -Infinity ? '-infinity' : new Date(time).toISOString();
}
