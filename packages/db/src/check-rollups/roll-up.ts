import { eq, sql } from 'drizzle-orm';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { clockNow } from '../database/sql.ts';
import { hourlyCounts, ROLLUP_COLUMNS } from './count-checks.ts';
import { ensureRollupPartition, oldestRollup } from './partitions.ts';
import { checkRollupState } from './table.ts';

/** How far the events are rolled up. */
export interface RollupState {
  /** The start of the first hour that is not. */
  readonly rolledUntil: Date;
  /** Gaps of the last hour that is, by region; regions without any are left out. */
  readonly lastGaps: Readonly<Record<string, number>>;
  /** How long leading apis have run, in all, while `rolledUntil` was older than the clock of Postgres explains; in milliseconds. */
  readonly clockDoubtedMs: number;
}

/** Null before the first roll-up. */
export async function readRollupState(db: Queryable): Promise<RollupState | null> {
  const [state] = await db.select().from(checkRollupState);
  return state ?? null;
}

/** Keeps how long the clock has been doubted; nothing before the first roll-up. */
export async function writeClockDoubt(db: Database, clockDoubtedMs: number): Promise<void> {
  await db.update(checkRollupState).set({ clockDoubtedMs });
}

/**
 * Waits for the slice of a roll-up that is being written, if there is one. Slices that begin later do not see monitors that were
 * deleted before.
 */
export async function waitForRollUp(db: Database): Promise<void> {
  await db.execute(sql`select from check_rollup_state for share`);
}

const HOUR_MS = 3_600_000;
/** Checks run up to 15 minutes late count, and stamps are given up to 15 s before their commit. */
const SETTLED_AFTER_MS = 16 * 60_000;
/** Keeps each slice far below the timeout of a statement: even checks every 5 s from several regions are some hundred thousand events. */
const MONITORS_AT_ONCE = 250;

/** What became of an hour. */
export interface RolledHour {
  readonly hour: Date;
  /** Gaps by region; regions without any are left out. */
  readonly gaps: Readonly<Record<string, number>>;
}

export interface RollUpOptions {
  /** How many monitors a slice counts. */
  readonly monitorsAtOnce?: number | undefined;
  /** Ends the roll-up after the current slice; the next call does the hour again. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Rolls up the oldest finished hour that is not rolled up yet (ADR 8): some monitors in each transaction, then the watermark. An
 * hour that was left in the middle is done again from its start. The events of a settled hour never change, so a slice that is
 * done again gives the same rollups, also when two processes do it at once.
 * @returns null where no hour is due, the signal was aborted, or another process completed the hour
 */
export async function rollUpNextHour(
  db: Database,
  { monitorsAtOnce = MONITORS_AT_ONCE, signal }: RollUpOptions = {},
): Promise<RolledHour | null> {
  const due = await nextHour(db);
  if (due === null) return null;
  await ensureRollupPartition(db, due.hour);
  const gaps: Record<string, number> = {};
  let after = BEFORE_ALL;
  for (;;) {
    if (signal?.aborted === true) return null;
    const slice = await db.transaction((tx) => rollUpSlice(tx, due, after, monitorsAtOnce));
    if (slice === null) break;
    for (const { region, gaps: count } of slice.gaps) gaps[region] = (gaps[region] ?? 0) + count;
    after = slice.last;
  }
  return (await finishHour(db, due.hour, gaps)) ? { hour: due.hour, gaps } : null;
}

interface DueHour {
  readonly hour: Date;
  readonly now: Date;
}

/** The hour after the watermark, if it is settled. */
async function nextHour(db: Database): Promise<DueHour | null> {
  const { rows } = await db.execute<{ hour: number; now: number }>(sql`
    select (extract(epoch from rolled_until) * 1000)::float8 as hour,
      (extract(epoch from ${clockNow}) * 1000)::float8 as now
    from check_rollup_state`);
  const [state] = rows;
  if (!state) return begin(db);
  if (state.now < state.hour + HOUR_MS + SETTLED_AFTER_MS) return null;
  return { hour: new Date(state.hour), now: new Date(state.now) };
}

/** Before the first roll-up: it begins with the first hour of the first monitor, as far as its rollups would be kept. */
async function begin(db: Database): Promise<DueHour | null> {
  const { rows } = await db.execute<{ since: number; now: number }>(sql`
    select (extract(epoch from least(c.now,
        (select min(created_at) from monitors), (select min(starts_at) from schedule_spans))) * 1000)::float8 as since,
      (extract(epoch from c.now) * 1000)::float8 as now
    from (select ${clockNow} as now) c`);
  const [clock] = rows;
  if (!clock) return null;
  const rolledUntil = new Date(Math.max(clock.since - (clock.since % HOUR_MS), oldestRollup(clock.now)));
  await db.insert(checkRollupState).values({ rolledUntil }).onConflictDoNothing();
  return nextHour(db);
}

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

interface Slice {
  readonly gaps: readonly { readonly region: string; readonly gaps: number }[];
  /** The last monitor that it counted. */
  readonly last: string;
}

/**
 * Writes the rollups of the next monitors. It locks no monitor, so that nobody who deletes one waits: while it runs it holds the
 * watermark, for which `purgeDeletedMonitors` waits before it deletes what is left of one.
 * @param after the last monitor of the slice before
 * @returns null where no monitor is left, or another process has completed the hour
 */
async function rollUpSlice(
  tx: Transaction,
  { hour, now }: DueHour,
  after: string,
  monitorsAtOnce: number,
): Promise<Slice | null> {
  const held = await tx.execute(sql`
    select from check_rollup_state where rolled_until = ${hour.toISOString()} for update`);
  if (held.rowCount === 0) return null;
  const { rows: monitors } = await tx.execute<{ id: string }>(
    sql`select id from monitors where id > ${after} order by id limit ${monitorsAtOnce}`,
  );
  const monitorIds = monitors.map(({ id }) => id);
  const last = monitorIds.at(-1);
  if (last === undefined) return null;
  const to = new Date(hour.getTime() + HOUR_MS);
  const { rows: gaps } = await tx.execute<{ region: string; gaps: number }>(sql`
    with counted as materialized (${hourlyCounts({ monitorIds, from: hour, to, now })}),
    written as (
      insert into check_rollups (${ROLLUP_COLUMNS}) select ${ROLLUP_COLUMNS} from counted on conflict do nothing)
    select region, sum(gaps)::int as gaps from counted where gaps > 0 group by region`);
  return { gaps, last };
}

/** Moves the watermark. @returns false where another process did so before */
async function finishHour(db: Database, hour: Date, lastGaps: Record<string, number>): Promise<boolean> {
  const rolledUntil = new Date(hour.getTime() + HOUR_MS);
  const { rowCount } = await db
    .update(checkRollupState)
    .set({ rolledUntil, lastGaps })
    .where(eq(checkRollupState.rolledUntil, hour));
  return rowCount === 1;
}
