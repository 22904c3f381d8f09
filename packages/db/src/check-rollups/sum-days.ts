import { sql } from 'drizzle-orm';
import { NIL } from 'uuid';
import { z } from 'zod';
import type { Database, Transaction } from '../database/open.ts';
import { readOwnPartitions } from '../database/partitions.ts';
import { epochMs, query, queryColumn, timestamptz } from '../database/sql.ts';
import { workForShare } from '../database/work-share.ts';
import { ensureRollupPartition } from './partitions.ts';

const DAY_MS = 86_400_000;
/** Monitors of a slice, which has at most 24 rollups of each region. */
const BATCH_SIZE = 500;

export interface SumDaysOptions {
  readonly batchSize?: number;
  /** See `workForShare`. Defaults to 1. */
  readonly share?: number;
  /** Stops after the current slice. The next call repeats the day. */
  readonly signal?: AbortSignal;
}

/**
 * Sums up the rollups of the oldest day whose hours are all rolled up, slice by slice, each in a transaction. An interrupted day is repeated
 * with the same sums. @returns false if no day is due or the signal was aborted
 */
export async function sumUpNextDay(
  db: Database,
  { batchSize = BATCH_SIZE, share = 1, signal }: SumDaysOptions = {},
): Promise<boolean> {
  const [state] = await query(db, z.object({ rolledUntil: z.number(), summedUntil: z.number().nullable() }))`
    select ${epochMs(sql`rolled_until`)} as rolled_until, ${epochMs(sql`summed_until`)} as summed_until
    from check_rollup_state`;
  if (state === undefined) return false;
  const start = state.summedUntil ?? (await firstDay(db)) ?? Math.floor(state.rolledUntil / DAY_MS) * DAY_MS;
  const [day, end] = [timestamptz(start), timestamptz(start + DAY_MS)];
  if (start + DAY_MS > state.rolledUntil) return false;
  await ensureRollupPartition(db, new Date(start));
  const sumUpAfter = (after: string): Promise<string | undefined> =>
    workForShare(share, signal, () =>
      db.transaction((tx) => sumUpSlice(tx, { from: start, after, batchSize })),
    );
  for (let after = await sumUpAfter(NIL); after !== undefined; after = await sumUpAfter(after))
    if (signal?.aborted === true) return false;
  await db.execute(sql`
    update check_rollup_state set summed_until = ${end} where coalesce(summed_until, ${day}) = ${day}`);
  return true;
}

/** Sums up a day of the next monitors. @returns the last monitor, or undefined if no monitor is left */
async function sumUpSlice(
  tx: Transaction,
  { from, after, batchSize }: { readonly from: number; readonly after: string; readonly batchSize: number },
): Promise<string | undefined> {
  const [day, end] = [timestamptz(from), timestamptz(from + DAY_MS)];
  // A purge waits for this lock, and later slices do not see the monitors that were deleted before it.
  await tx.execute(sql`select from check_rollup_state for update`);
  const [last] = await queryColumn(tx)`
    with selected as (select id from monitors where id > ${after} order by id limit ${batchSize}),
    summed as (
      insert into check_days (monitor_id, day, checks, failures, gaps)
      select monitor_id, ${day}, sum(checks), sum(failures), sum(gaps)
      from check_rollups where monitor_id in (select id from selected) and hour >= ${day} and hour < ${end}
      group by 1 on conflict do nothing)
    select max(id::text) from selected having count(*) = ${batchSize}`;
  return last;
}

/** Returns the beginning of the oldest rollups, or null without any. */
async function firstDay(db: Database): Promise<number | null> {
  const [oldest] = await readOwnPartitions(db, 'check_rollups');
  return oldest?.start ?? null;
}
