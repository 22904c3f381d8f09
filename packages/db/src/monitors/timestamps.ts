import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { epochMs, firstOf, query, tableOf, timestamptz } from '../database/sql.ts';

/** Which records of one monitor to read: those stamped after one instant, up to another, in epoch milliseconds. */
export interface TimestampRange {
  readonly monitorId: string;
  /** Exclusive; null: from the first. */
  readonly after: number | null;
  readonly upTo: number;
}

/** The ranges as a table `r (monitor_id, after, up_to)`. */
export function timestampRanges(ranges: readonly TimestampRange[]): SQL {
  return tableOf('r', ranges, {
    monitor_id: ['uuid', ({ monitorId }) => monitorId],
    after: ['timestamptz', ({ after }) => after ?? -Infinity],
    up_to: ['timestamptz', ({ upTo }) => upTo],
  });
}

/** The bounds of all ranges together, epoch milliseconds. As values they let the planner skip the partitions of other days. */
export function boundsOf(ranges: readonly TimestampRange[]): {
  readonly after: number;
  readonly upTo: number;
} {
  return {
    after: ranges.reduce((least, { after }) => Math.min(least, after ?? -Infinity), Infinity),
    upTo: ranges.reduce((most, { upTo }) => Math.max(most, upTo), 0),
  };
}

/** Whether a timestamp is in the range of its row. */
export function isInRange(ranges: readonly TimestampRange[], stamp: SQL): SQL {
  const { after, upTo } = boundsOf(ranges);
  return sql`${stamp} > r.after and ${stamp} <= r.up_to
    and ${stamp} > ${timestamptz(after)} and ${stamp} <= ${timestamptz(upTo)}`;
}

export interface MonitorTimestamps {
  /** Postgres' clock just before the read, epoch milliseconds. Whatever the read missed was committed later. */
  readonly now: number;
  /** Each monitor's last stamp, epoch milliseconds. */
  readonly timestamps: ReadonlyMap<string, number>;
}

export const stampRow = z.object({
  now: z.number(),
  id: z.string().nullable(),
  stamp: z.number().nullable(),
});

/** The time just before the snapshot of a statement outside a transaction. `statement_timestamp` may be after it. */
export const beforeSnapshot = sql`(select floor(${epochMs(sql`transaction_timestamp()`)}) as now)`;

/**
 * The last stamp of each of the account's monitors. Monitors without a timestamp are left out.
 * @param since only timestamps after this, epoch milliseconds; null: all
 */
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

/** @param rows with a row without an id for an account without monitors */
export function toTimestamps(rows: readonly z.output<typeof stampRow>[]): MonitorTimestamps {
  const timestamps = new Map<string, number>();
  for (const { id, stamp } of rows) if (id !== null && stamp !== null) timestamps.set(id, stamp);
  return { now: firstOf(rows).now, timestamps };
}
