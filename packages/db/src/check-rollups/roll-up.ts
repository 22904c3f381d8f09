import { eq, sql } from 'drizzle-orm';
import { NIL } from 'uuid';
import { z } from 'zod';
import { isDataError, isRefusal } from '../database/errors.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { clockNow, epochMs, query, queryColumn, queryOne, timestamptz } from '../database/sql.ts';
import type { RefusedRecord } from '../database/try-alone.ts';
import { workForShare } from '../database/work-share.ts';
import { hourlyCounts, type HoursRange, ROLLUP_COLUMNS } from './count-checks.ts';
import { ensureRollupPartition, oldestRollup } from './partitions.ts';
import { checkRollupState } from './table.ts';

const HOUR_MS = 3_600_000;
/** Checks that run up to 15 minutes late count, and a timestamp may be 15 s older than its commit. */
const SETTLED_AFTER_MS = 16 * 60_000;
/** Keeps slices far below the statement timeout. Checks every 5 s from several regions produce several hundred thousand events. */
const MAX_BATCH_SIZE = 250;
/** A slice that PostgreSQL refuses is repeated with fewer monitors. */
const SMALLER = 'smaller';

export type RollupState = Readonly<typeof checkRollupState.$inferSelect>;

/** Returns null before the first roll-up. */
export async function readRollupState(db: Queryable): Promise<RollupState | null> {
  const [state] = await db.select().from(checkRollupState);
  return state ?? null;
}

/** Stores how long the clock has been doubted. Does nothing before the first roll-up. */
export async function writeClockDoubt(db: Database, clockDoubtedMs: number): Promise<void> {
  await db.update(checkRollupState).set({ clockDoubtedMs });
}

/** Waits until the current slice of a roll-up is written. Later slices do not see monitors that were deleted before this call. */
export async function waitForRollUp(db: Database): Promise<void> {
  await db.execute(sql`select from check_rollup_state for share`);
}

export interface RolledHour {
  readonly hour: Date;
  /** Gaps by region. Regions without gaps are omitted. */
  readonly gaps: Readonly<Record<string, number>>;
}

export interface RollUpOptions {
  /** Length of a rolled-up period, a divisor of an hour. Defaults to an hour. */
  readonly periodMinutes?: number | undefined;
  readonly maxBatchSize?: number | undefined;
  /** Share of the time that slices may take, until half a period after the hour became due. The rest is pauses. Defaults to 1, without pauses. */
  readonly share?: number | undefined;
  /** Called for each monitor whose events PostgreSQL refuses to count even alone. That monitor gets no rollups for the hour. */
  readonly onRefused?: ((monitor: RefusedRecord) => void) | undefined;
  /** Stops after the current slice. The next call repeats the hour. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Rolls up the oldest finished hour (ADR 8), slice by slice, each in a transaction, and then moves the watermark. An interrupted hour is
 * repeated with the same rollups. @returns null if no hour is due, the signal was aborted, or another process completed the hour
 */
export async function rollUpNextHour(
  db: Database,
  {
    periodMinutes = 60,
    maxBatchSize = MAX_BATCH_SIZE,
    share = 1,
    onRefused = () => undefined,
    signal,
  }: RollUpOptions = {},
): Promise<RolledHour | null> {
  const { hour: start, now } = (await readWatermark(db)) ?? (await begin(db));
  // After a change to a longer period, shorter ones remain until the first start of a longer one.
  const periodMs = greatestDivisor(start, periodMinutes * 60_000);
  const end = start + periodMs;
  if (now < end + SETTLED_AFTER_MS) return null;
  const hour = new Date(start);
  await ensureRollupPartition(db, hour);
  const startedAt = performance.now();
  const isLate = (): boolean => now + performance.now() - startedAt >= end + SETTLED_AFTER_MS + periodMs / 2;
  const gaps: Record<string, number> = {};
  let after: string = NIL;
  let batchSize = maxBatchSize;
  for (;;) {
    if (signal?.aborted === true) return null;
    const range = { from: start, to: end, periodMs, now };
    const slice = await workForShare(isLate() ? 1 : share, signal, () =>
      db
        .transaction((tx) => rollUpSlice(tx, range, after, batchSize))
        .catch(async (error: unknown) => {
          if (!isRefusal(error)) throw error;
          if (batchSize > 1) return SMALLER;
          // This monitor can be the cause only if its data is bad.
          if (!isDataError(error)) throw error;
          const [id] = await listMonitorsAfter(db, after, 1);
          if (id === undefined) return null;
          onRefused({ id, error });
          return { gaps: [], last: id };
        }),
    );
    // One monitor that PostgreSQL refuses must not stop the roll-up of all others.
    if (slice === SMALLER) {
      batchSize = Math.ceil(batchSize / 10);
      continue;
    }
    batchSize = maxBatchSize;
    if (slice === null) break;
    for (const { region, gaps: count } of slice.gaps) gaps[region] = (gaps[region] ?? 0) + count;
    after = slice.last;
  }
  // Another process may have moved the watermark.
  const { rowCount } = await db
    .update(checkRollupState)
    .set({ rolledUntil: new Date(end), lastGaps: gaps })
    .where(eq(checkRollupState.rolledUntil, hour));
  return rowCount === 1 ? { hour, gaps } : null;
}

function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other);
}

const watermark = z.object({ hour: z.number(), now: z.number() });

/** Reads the first hour that is not rolled up, and PostgreSQL's clock, in epoch milliseconds. Undefined before the first roll-up. */
async function readWatermark(db: Database): Promise<z.output<typeof watermark> | undefined> {
  const [state] = await query(db, watermark)`
    select ${epochMs(sql`rolled_until`)} as hour, ${epochMs(clockNow)} as now from check_rollup_state`;
  return state;
}

/** Starts with the first hour of the first monitor, but not before the retention period. */
async function begin(db: Database): Promise<z.output<typeof watermark>> {
  const { hour: since, now } = await queryOne(db, watermark)`
    select ${epochMs(sql`least(c.now, (select min(created_at) from monitors), (select min(starts_at) from schedule_spans))`)} as hour,
      ${epochMs(sql`c.now`)} as now
    from (select ${clockNow} as now) c`;
  const rolledUntil = new Date(Math.max(since - (since % HOUR_MS), oldestRollup(now)));
  await db.insert(checkRollupState).values({ rolledUntil }).onConflictDoNothing();
  return (await readWatermark(db)) ?? { hour: rolledUntil.getTime(), now };
}

function listMonitorsAfter(db: Queryable, after: string, limit: number): Promise<string[]> {
  return queryColumn(db)`select id from monitors where id > ${after} order by id limit ${limit}`;
}

const gapCount = z.object({ region: z.string(), gaps: z.number() });

/**
 * Writes the rollups of the next monitors. Locks the watermark instead of the monitors, so that deletions need not wait, but a purge does.
 * @returns the gaps and the last monitor, or null if no monitor is left or another process has completed the hour
 */
async function rollUpSlice(tx: Transaction, hour: HoursRange, after: string, batchSize: number) {
  const locked = await tx.execute(sql`
    select from check_rollup_state where rolled_until = ${timestamptz(hour.from)} for update`);
  if (locked.rowCount === 0) return null;
  const monitorIds = await listMonitorsAfter(tx, after, batchSize);
  const last = monitorIds.at(-1);
  if (last === undefined) return null;
  const gaps = await query(tx, gapCount)`
    with counted as materialized (${hourlyCounts(monitorIds, hour)}),
    written as (
      insert into check_rollups (${ROLLUP_COLUMNS}) select ${ROLLUP_COLUMNS} from counted on conflict do nothing)
    select region, sum(gaps)::int as gaps from counted where gaps > 0 group by region`;
  return { gaps, last };
}
