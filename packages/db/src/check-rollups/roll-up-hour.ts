import { sql } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import { clockNow } from '../database/columns.ts';
import type { Database, Transaction } from '../database/open.ts';
import { hourlyCounts, ROLLUP_COLUMNS } from './hourly-counts.ts';
import { ensureRollupPartition, oldestRollup } from './partitions.ts';
import { checkRollupState } from './table.ts';

const HOUR_MS = 3_600_000;
/** Checks run up to 15 minutes late count, and stamps are given up to 15 s before their commit. */
const SETTLED_AFTER_MS = 16 * 60_000;
/** Keeps each statement far below its timeout: even checks every 5 s from several regions are some hundred thousand events. */
const MONITORS_AT_ONCE = 250;

/** What became of an hour. */
export interface RolledHour {
  readonly hour: Date;
  /** Gaps by region; regions without any are left out. */
  readonly gaps: Readonly<Record<string, number>>;
}

/**
 * Rolls the oldest finished hour up that is not yet (ADR 8), in one transaction with the watermark: all of it or nothing.
 * @param monitorsAtOnce how many a statement counts
 * @returns null where no hour is due, or another process is at it
 */
export async function rollUpNextHour(
  db: Database,
  monitorsAtOnce: number = MONITORS_AT_ONCE,
): Promise<RolledHour | null> {
  const due = await nextHour(db, false);
  if (due === null) return null;
  await ensureRollupPartition(db, due.hour);
  return db.transaction(async (tx) => {
    const locked = await nextHour(tx, true);
    if (locked?.hour.getTime() !== due.hour.getTime()) return null;
    const gaps = await countHour(tx, locked, monitorsAtOnce);
    const rolledUntil = new Date(locked.hour.getTime() + HOUR_MS);
    await tx.update(checkRollupState).set({ rolledUntil, lastGaps: gaps });
    return { hour: locked.hour, gaps };
  });
}

interface DueHour {
  readonly hour: Date;
  readonly now: Date;
}

/** The hour after the watermark, if it is settled. @param lock holds the watermark; null where another process does */
async function nextHour(db: Database | Transaction, lock: boolean): Promise<DueHour | null> {
  const { rows } = await db.execute<{ hour: number; now: number }>(sql`
    select (extract(epoch from rolled_until) * 1000)::float8 as hour,
      (extract(epoch from ${clockNow}) * 1000)::float8 as now
    from check_rollup_state ${lock ? sql`for update skip locked` : sql``}`);
  const [state] = rows;
  if (!state) return lock ? null : begin(db);
  if (state.now < state.hour + HOUR_MS + SETTLED_AFTER_MS) return null;
  return { hour: new Date(state.hour), now: new Date(state.now) };
}

/** Before the first roll-up: it begins with the first hour of the first monitor, as far as its rollups would be kept. */
async function begin(db: Database | Transaction): Promise<DueHour | null> {
  const { rows } = await db.execute<{ since: number }>(sql`
    select (extract(epoch from least(${clockNow},
      (select min(created_at) from monitors), (select min(starts_at) from schedule_spans))) * 1000)::float8 as since`);
  const since = rows[0]?.since ?? Date.now();
  const rolledUntil = new Date(Math.max(since - (since % HOUR_MS), oldestRollup(Date.now())));
  await db.insert(checkRollupState).values({ rolledUntil }).onConflictDoNothing();
  return nextHour(db, false);
}

/** Writes the rollups of an hour, some monitors at a time; returns its gaps by region. */
async function countHour(
  tx: Transaction,
  { hour, now }: DueHour,
  monitorsAtOnce: number,
): Promise<Record<string, number>> {
  const to = new Date(hour.getTime() + HOUR_MS);
  const gaps: Record<string, number> = {};
  const seen: string[] = [];
  for (;;) {
    const monitorIds = await nextMonitors(tx, seen.at(-1), monitorsAtOnce);
    if (monitorIds.length === 0) break;
    seen.push(...monitorIds);
    const { rows } = await tx.execute<{ region: string; gaps: number }>(sql`
      with written as (
        insert into check_rollups (${ROLLUP_COLUMNS})
        ${hourlyCounts({ monitorIds, from: hour, to, now })}
        on conflict do nothing
        returning region, gaps)
      select region, sum(gaps)::int as gaps from written where gaps > 0 group by region`);
    for (const row of rows) gaps[row.region] = (gaps[row.region] ?? 0) + row.gaps;
  }
  await forgetDeleted(tx, seen);
  return gaps;
}

async function nextMonitors(tx: Transaction, after: string | undefined, limit: number): Promise<string[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    select id from monitors ${after === undefined ? sql`` : sql`where id > ${after}`} order by id limit ${limit}`);
  return rows.map(({ id }) => id);
}

/**
 * Takes back the rollups of monitors that were deleted meanwhile. From here to the commit the others cannot be: whoever
 * deletes one later finds its rollups.
 */
async function forgetDeleted(tx: Transaction, monitorIds: readonly string[]): Promise<void> {
  const ids = arrayOf('uuid', monitorIds);
  const { rows } = await tx.execute<{ id: string }>(sql`
    with kept as (select id from monitors where id = any(${ids}) order by id for key share)
    select id from unnest(${ids}) as seen (id) where not exists (select from kept where kept.id = seen.id)`);
  const gone = rows.map(({ id }) => id);
  if (gone.length === 0) return;
  await tx.execute(sql`delete from check_rollups where monitor_id = any(${arrayOf('uuid', gone)})`);
}
