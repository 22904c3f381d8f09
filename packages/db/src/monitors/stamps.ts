import { sql, type SQL } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { columnOf } from '../database/sql.ts';

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

export interface MonitorStamps {
  /** Postgres' clock just before the read, epoch milliseconds: whatever is not in it was committed later. */
  readonly now: number;
  /** Each monitor's last stamp, epoch milliseconds. */
  readonly stamps: ReadonlyMap<string, number>;
}

/**
 * How far the clocks of the account's monitors have come (design §3 "Events and tailing"). Monitors without a stamp are left out.
 * @param since only stamps after this, epoch milliseconds; null: all
 */
export async function listMonitorStamps(
  db: Database,
  accountId: string,
  since: number | null,
): Promise<MonitorStamps> {
  const after = since === null ? '-infinity' : new Date(since).toISOString();
  const { rows } = await db.execute<{ now: number; id: string | null; stamp: number | null }>(sql`
    select floor(extract(epoch from c.now) * 1000)::float8 as now, m.id,
      (extract(epoch from m.last_timestamp) * 1000)::float8 as stamp
    from (select statement_timestamp() as now) c
    left join monitors m on m.account_id = ${accountId} and m.last_timestamp > ${after}::timestamptz`);
  const [first] = rows;
  if (!first) throw new Error('the clock returned no row');
  const stamps = new Map<string, number>();
  for (const { id, stamp } of rows) if (id !== null && stamp !== null) stamps.set(id, stamp);
  return { now: first.now, stamps };
}
