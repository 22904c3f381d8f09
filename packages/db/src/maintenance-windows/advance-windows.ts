import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MaintenanceWindowState } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import {
  followingOccurrence,
  type Occurrence,
  passedOccurrences,
} from '@tocsin/core/maintenance/occurrences';
import { and, lte, ne, not, sql } from 'drizzle-orm';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf, columnOf, readDatabaseClock } from '../database/sql.ts';
import { storedOccurrence } from './read-windows.ts';
import {
  maintenanceOccurrences,
  type MaintenanceOutcome,
  type MaintenanceWindowRow,
  maintenanceWindows,
} from './table.ts';

/** How long one call may plan. What is left is the next call's. */
const BUDGET_MS = 500;
/** The same for windows whose rule may be costly: monitors leave maintenance between calls. */
const COSTLY_BUDGET_MS = 100;
/** Plans that wait to be written together: no end waits longer than this, and for one rule's evaluation. */
const WRITE_EVERY_MS = 50;
/** Windows that are read at a time. */
const READ_AT_ONCE = 500;
/** Rules that may take tens of milliseconds. */
const COSTLY_RULE = 'COUNT=|BYSETPOS=|FREQ=YEARLY';

export interface AdvanceOptions {
  /** Time limit for cheap rules and again for costly ones; at least one window of each kind is planned. Default: 500 and 100 ms. */
  readonly budgetMs?: number;
  /** Evaluates the rule of a window. */
  readonly plan?: typeof planWindow;
  /** Handles only what became due at least this many milliseconds ago, so that other processes go first. Default: 0. */
  readonly behindMs?: number;
}

/** What the clock did to the windows. */
export interface AdvancedWindows {
  /** How late each occurrence began or ended, in seconds; one that was missed did neither. */
  readonly startedLate: readonly number[];
  readonly endedLate: readonly number[];
  /** Windows that ended since their rule cannot be read any more. */
  readonly brokenIds: readonly string[];
}

/**
 * Begins the occurrences that are due, then ends those that are over and plans the next ones, by Postgres' clock (design §4
 * "Maintenance"). In this order and by one reading of the clock, so that a monitor whose window ends when
 * another begins stays covered. Safe in several processes at once; a window that is locked elsewhere is left for the next call.
 *
 * Rules are evaluated outside of any transaction and one at a time, so that this process does not wait for a costly one. Windows without
 * a costly rule are ended first, and accounts take turns, so that no account delays the windows of others.
 */
export async function advanceWindows(db: Database, options: AdvanceOptions = {}): Promise<AdvancedWindows> {
  const { budgetMs, plan = planWindow, behindMs = 0 } = options;
  const now = new Date((await readDatabaseClock(db)).getTime() - behindMs);
  const startedLate = await beginOccurrences(db, now);
  const endedLate: number[] = [];
  const brokenIds: string[] = [];
  const write = async (plans: readonly WindowPlan[]): Promise<void> => {
    for (const { plan: written, outcome } of await writePlans(db, plans)) {
      const { row, state, next, ended, broken } = written;
      if (ended && outcome === 'completed') endedLate.push((now.getTime() - ended.endsAt.getTime()) / 1_000);
      if (state === 'running' && next) startedLate.push((now.getTime() - next.startsAt.getTime()) / 1_000);
      if (broken) brokenIds.push(row.id);
    }
  };

  const planOver = async (kind: 'cheap' | 'costly', withinMs: number): Promise<void> => {
    const startedAt = performance.now();
    let plans: WindowPlan[] = [];
    let writtenAt = startedAt;
    for (const row of await findOver(db, now, kind)) {
      plans.push(plan(row, now));
      await nextTurn();
      const time = performance.now();
      if (time - writtenAt >= WRITE_EVERY_MS) {
        await write(plans);
        plans = [];
        writtenAt = performance.now();
      }
      if (time - startedAt >= withinMs) break;
    }
    await write(plans);
  };
  await planOver('cheap', budgetMs ?? BUDGET_MS);
  await planOver('costly', budgetMs ?? COSTLY_BUDGET_MS);
  return { startedLate, endedLate, brokenIds };
}

/** @returns how late each began, in seconds */
async function beginOccurrences(db: Database, now: Date): Promise<number[]> {
  const { rows } = await db.execute<{ late: number }>(sql`
    update maintenance_windows set state = 'running'
    where id in (
      select id from maintenance_windows
      where state = 'scheduled' and occurrence_starts_at <= ${now.toISOString()}
        and occurrence_ends_at > ${now.toISOString()}
      for no key update skip locked)
    returning extract(epoch from ${now.toISOString()}::timestamptz - occurrence_starts_at)::float8 as late`);
  return rows.map(({ late }) => late);
}

/**
 * Windows whose occurrence is over. Accounts take turns; each begins with the window that ended first. The order of accounts is random, so
 * that none is always the last one of a call, and processes that plan at the same time begin with different windows.
 * @param kind whether their rule may be costly
 */
async function findOver(db: Database, now: Date, kind: 'cheap' | 'costly'): Promise<MaintenanceWindowRow[]> {
  const { accountId, id, occurrenceEndsAt, rrule, state } = maintenanceWindows;
  const isCostly = sql`coalesce(${rrule} ~ ${COSTLY_RULE}, false)`;
  return db
    .select()
    .from(maintenanceWindows)
    .where(and(ne(state, 'ended'), lte(occurrenceEndsAt, now), kind === 'costly' ? isCostly : not(isCostly)))
    .orderBy(
      sql`row_number() over (partition by ${accountId} order by ${occurrenceEndsAt}, ${id})`,
      sql`random()`,
    )
    .limit(READ_AT_ONCE);
}

/** Writes the plans of windows that are still as they were read. @returns those that were written, and how their occurrences ended */
async function writePlans(
  db: Database,
  plans: readonly WindowPlan[],
): Promise<{ readonly plan: WindowPlan; readonly outcome: MaintenanceOutcome }[]> {
  if (plans.length === 0) return [];
  return db.transaction(async (tx) => {
    const { rows } = await tx.execute<{ id: string }>(sql`
      with planned as (
        select * from unnest(
          ${columnOf(plans, 'uuid', ({ row }) => row.id)},
          ${columnOf(plans, 'text', ({ row }) => row.state)},
          ${columnOf(plans, 'timestamptz', ({ row }) => row.occurrenceEndsAt?.toISOString() ?? null)},
          ${columnOf(plans, 'text', ({ state }) => state)},
          ${columnOf(plans, 'timestamptz', ({ next }) => next?.startsAt.toISOString() ?? null)},
          ${columnOf(plans, 'timestamptz', ({ next }) => next?.endsAt.toISOString() ?? null)}
        ) as u (id, old_state, old_ends_at, state, starts_at, ends_at)
      ), unchanged as (
        select w.id from maintenance_windows w
        join planned u on u.id = w.id and u.old_state = w.state and u.old_ends_at = w.occurrence_ends_at
        order by w.id for no key update of w skip locked
      )
      update maintenance_windows w set
        state = u.state, occurrence_starts_at = u.starts_at, occurrence_ends_at = u.ends_at
      from planned u join unchanged using (id)
      where w.id = u.id
      returning w.id`);
    const written = new Set(rows.map(({ id }) => id));
    const outcomes = await readOutcomes(tx, [...written]);
    const done = plans
      .filter(({ row }) => written.has(row.id))
      .map((plan) => ({ plan, outcome: outcomes(plan.row) }));
    const past = done.flatMap(({ plan: { row, ended, missed }, outcome }) => [
      ...(ended ? [{ windowId: row.id, ...ended, outcome }] : []),
      ...missed.map(({ startsAt, endsAt }) => ({
        windowId: row.id,
        startsAt,
        endsAt,
        outcome: 'missed' as const,
      })),
    ]);
    if (past.length > 0) await tx.insert(maintenanceOccurrences).values(past).onConflictDoNothing();
    return done;
  });
}

/** Missed occurrences that are noted one by one; of a longer absence the rest is passed over. */
const MOST_MISSED = 200;
/** No rule repeats sooner than a minute later: where the end is noticed within that, nothing was missed. */
const SHORTEST_GAP_MS = 60_000;

/** What becomes of a window whose occurrence is over. */
export interface WindowPlan {
  readonly row: MaintenanceWindowRow;
  readonly state: MaintenanceWindowState;
  readonly next: Occurrence | null;
  /** The occurrence that is over; null: there was none. */
  readonly ended: Occurrence | null;
  /** Later occurrences that also passed while no service was running to carry them out. */
  readonly missed: readonly Occurrence[];
  /** Its rule cannot be read any more. */
  readonly broken: boolean;
}

/** What ended with the stored occurrence and since, and what comes next. Evaluates the rule: tens of milliseconds for a costly one. */
export function planWindow(row: MaintenanceWindowRow, now: Date): WindowPlan {
  const ended = storedOccurrence(row);
  if (ended === null) return { row, state: 'ended', next: null, ended, missed: [], broken: false };
  try {
    const next = followingOccurrence(row, ended, now);
    const late = now.getTime() - ended.endsAt.getTime() >= SHORTEST_GAP_MS;
    const missed = late ? passedOccurrences(row, ended, now, MOST_MISSED) : [];
    const state = next === null ? 'ended' : next.startsAt <= now ? 'running' : 'scheduled';
    return { row, state, next, ended, missed, broken: false };
  } catch {
    return { row, state: 'ended', next: null, ended, missed: [], broken: true };
  }
}

/**
 * How the occurrence of each of these windows ended: `completed` only where all of its monitors were entered. They are in maintenance
 * still: monitors come out of it only after the window was ended.
 */
export async function readOutcomes(
  tx: Transaction,
  windowIds: readonly string[],
): Promise<(before: MaintenanceWindowRow) => MaintenanceOutcome> {
  const { rows } = await tx.execute<{ window_id: string; all_entered: boolean }>(sql`
    select a.window_id, bool_and(m.status = 'MAINTENANCE') as all_entered
    from maintenance_window_monitors a join monitors m on m.id = a.monitor_id
    where a.window_id = any(${arrayOf('uuid', windowIds)})
    group by a.window_id`);
  const entered = new Map(rows.map((row) => [row.window_id, row.all_entered]));
  return ({ id, state }) => ((entered.get(id) ?? state === 'running') ? 'completed' : 'missed');
}
