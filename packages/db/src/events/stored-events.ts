import { getTableColumns, type Placeholder, sql, type SQL, Subquery } from 'drizzle-orm';
import { timestamptz } from '../database/sql.ts';
import { events } from './table.ts';

const DAY_MS = 86_400_000;

/** Columns of an event in statements that read raw and packed events. */
const columns = sql.raw(
  Object.values(getTableColumns(events))
    .map(({ name }) => `"${name}"`)
    .join(', '),
);

export interface StoredEvents {
  /** Condition on `monitor_id`, such as `monitor_id = …`. */
  readonly of: SQL;
  /** Exclusive bound (epoch milliseconds), or the first event. Values let the planner skip the partitions of other days. */
  readonly after?: number | Placeholder | undefined;
  /** Inclusive bound in epoch milliseconds. Without it, reads to the last event. A placeholder needs another one for `endOfDay(upTo)`. */
  readonly upTo?: number | { readonly time: Placeholder; readonly endOfDay: Placeholder } | undefined;
  /** Further bounds, which may differ by row. */
  readonly within?: { readonly after: SQL; readonly upTo?: SQL } | undefined;
  readonly where?: SQL | undefined;
  /** Reads only the first or last events, in this order. By default it reads all, in any order. */
  readonly limit?: { readonly order: 'asc' | 'desc'; readonly count: number | Placeholder | SQL } | undefined;
}

/** Selects raw and packed events of monitors as a table `events`. With a limit it needs one monitor, and stops reading at the limit. */
export function storedEvents({ of, after, upTo, within, where, limit }: StoredEvents): Subquery {
  const until = typeof upTo === 'number' ? { time: upTo, endOfDay: endOfDay(upTo) } : upTo;
  const lower = [...(after === undefined ? [] : [instantOf(after)]), ...(within ? [within.after] : [])];
  const upper = [...(until ? [instantOf(until.time)] : []), ...(within?.upTo ? [within.upTo] : [])];
  const inRange = sql.join(
    [
      of,
      ...lower.map((bound) => sql`"timestamp" > ${bound}`),
      ...upper.map((bound) => sql`"timestamp" <= ${bound}`),
      ...(where ? [where] : []),
    ],
    sql` and `,
  );
  const inBlock = sql.join(
    [
      inRange,
      ...lower.map((bound) => sql`block_ends_at > ${bound}`),
      ...upper.map((bound) => sql`block_starts_at <= ${bound}`),
      // No block crosses the end of a day.
      ...(until ? [sql`block_ends_at < ${instantOf(until.endOfDay)}`] : []),
    ],
    sql` and `,
  );
  const raw = sql`select ${columns} from events where ${inRange}`;
  const packed = sql`select ${columns} from packed_events where ${inBlock}`;
  if (limit === undefined) return asEvents(sql`${raw} union all ${packed}`);
  const order = sql.raw(limit.order);
  const first = (rows: SQL, keys: SQL): SQL => sql`(${rows} order by ${keys} limit ${limit.count})`;
  const byTime = sql`"timestamp" ${order}`;
  // Raw events are nearly always the latest. If they suffice, no block is read.
  const isLater =
    limit.order === 'asc'
      ? sql``
      : sql`and block_ends_at > coalesce((select min("timestamp") from raw having count(*) = ${limit.count}), '-infinity')`;
  return asEvents(sql`
    with raw as ${first(raw, byTime)}
    select * from raw union all ${first(sql`${packed} ${isLater}`, sql`block_ends_at ${order}, ${byTime}`)}
    order by "timestamp" ${order} limit ${limit.count}`);
}

function asEvents(statement: SQL): Subquery {
  return new Subquery(statement, getTableColumns(events), 'events');
}

function instantOf(time: number | Placeholder): SQL {
  return typeof time === 'number' ? timestamptz(time) : sql`${time}::timestamptz`;
}

/** Returns the end of a UTC day. Both times are epoch milliseconds, or infinite. */
export function endOfDay(time: number): number {
  return (Math.floor(time / DAY_MS) + 1) * DAY_MS;
}
