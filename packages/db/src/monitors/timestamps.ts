import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { epochMs, firstOf, query, tableOf, timestamptz } from '../database/sql.ts';

/** Records of one monitor with timestamps in (after, upTo], in epoch milliseconds. */
export interface TimestampRange {
  readonly monitorId: string;
  /** Exclusive bound, or null to begin with the first record. */
  readonly after: number | null;
  readonly upTo: number;
}

/** Passes the ranges as a table `r (monitor_id, after, up_to)`. */
export function timestampRanges(ranges: readonly TimestampRange[]): SQL {
  return tableOf('r', ranges, {
    monitor_id: ['uuid', ({ monitorId }) => monitorId],
    after: ['timestamptz', ({ after }) => after ?? -Infinity],
    up_to: ['timestamptz', ({ upTo }) => upTo],
  });
}

/** Returns the bounds of all ranges in epoch milliseconds. As values, they let the planner skip the partitions of other days. */
export function boundsOf(ranges: readonly TimestampRange[]): {
  readonly after: number;
  readonly upTo: number;
} {
  return {
    after: ranges.reduce((least, { after }) => Math.min(least, after ?? -Infinity), Infinity),
    upTo: ranges.reduce((most, { upTo }) => Math.max(most, upTo), 0),
  };
}

/** Condition that a timestamp is in the range of its row. */
export function isInRange(ranges: readonly TimestampRange[], stamp: SQL): SQL {
  const { after, upTo } = boundsOf(ranges);
  return sql`${stamp} > r.after and ${stamp} <= r.up_to
    and ${stamp} > ${timestamptz(after)} and ${stamp} <= ${timestamptz(upTo)}`;
}

export interface MonitorTimestamps {
  /** PostgreSQL's clock just before the read, in epoch milliseconds. Anything that the read missed was committed later. */
  readonly now: number;
  /** Each monitor's last timestamp, epoch milliseconds. */
  readonly timestamps: ReadonlyMap<string, number>;
}

export const stampRow = z.object({
  now: z.number(),
  id: z.string().nullable(),
  stamp: z.number().nullable(),
});

/** Time just before the snapshot of a statement outside a transaction. `statement_timestamp` may be after the snapshot. */
export const beforeSnapshot = sql`(select floor(${epochMs(sql`transaction_timestamp()`)}) as now)`;

/** Reads the last timestamp of each of the account's monitors that has one after `since`. @param since epoch milliseconds, or null for all */
export async function listMonitorTimestamps(
  db: Database,
  accountId: string,
  since: number | null,
): Promise<MonitorTimestamps> {
  const rows = await query(db, stampRow)`
    select c.now, m.id, ${epochMs(sql`m.last_timestamp`)} as stamp
    from ${beforeSnapshot} c
    left join monitors m on m.account_id = ${accountId} and m.last_timestamp > ${timestamptz(since ?? -Infinity)}`;
  return toTimestamps(rows);
}

/** Converts rows. @param rows a single row without an id if the account has no monitors */
export function toTimestamps(rows: readonly z.output<typeof stampRow>[]): MonitorTimestamps {
  const timestamps = new Map<string, number>();
  for (const { id, stamp } of rows) if (id !== null && stamp !== null) timestamps.set(id, stamp);
  return { now: firstOf(rows).now, timestamps };
}
