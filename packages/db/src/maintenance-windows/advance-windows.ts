import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MaintenanceWindowState } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import {
  followingOccurrence,
  type Occurrence,
  passedOccurrences,
} from '@tocsin/core/maintenance/occurrences';
import { and, eq, gt, inArray, lte, ne, not, sql } from 'drizzle-orm';
import { NIL } from 'uuid';
import { deleteWindowMatches } from '../assignments/assignments.ts';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf, queryColumn, readClock, tableOf } from '../database/sql.ts';
import { type RefusedRecord, tryTogether } from '../database/try-alone.ts';
import { readOutcomes } from './read-outcomes.ts';
import { storedOccurrence } from './read-windows.ts';
import {
  type MaintenanceOutcome,
  maintenanceOccurrences,
  type MaintenanceWindowRow,
  maintenanceWindows,
} from './table.ts';

/** How long one call may plan windows with cheap and with costly rules. In between, monitors leave maintenance. */
const BUDGETS_MS = { cheap: 500, costly: 100 };
/** Rules that may take tens of milliseconds. */
const COSTLY_RULE = 'COUNT=|BYSETPOS=|FREQ=YEARLY';
/** Plans are written in batches: an end waits at most this long, plus the evaluation of one rule. */
const WRITE_EVERY_MS = 50;
/** And at most this many in a transaction, which reads all of their monitors: it ends long before its timeout. */
const WRITTEN_AT_ONCE = 20;
/** Occurrences that one statement begins. */
const BEGUN_AT_ONCE = 500;
/** Windows that one call reads. */
const READ_AT_ONCE = 500;

export interface AdvanceOptions {
  /** Time limit for cheap rules and again for costly ones; at least one window of each kind is planned. Default: 500 and 100 ms. */
  readonly budgetMs?: number;
  /** Evaluates the rule of a window. */
  readonly plan?: typeof planWindow;
  /** Handles only what became due at least this many milliseconds ago, so that other processes go first. Default: 0. */
  readonly behindMs?: number;
  /** Ends only these windows. Default: null, all that are over. */
  readonly among?: readonly string[] | null;
  /** Windows that are not ended. Default: none. */
  readonly excludedIds?: readonly string[];
}

/** What a call has changed. */
export interface AdvancedWindows {
  /** How late each occurrence began or ended, in seconds, without the missed ones. */
  readonly startedLate: readonly number[];
  readonly endedLate: readonly number[];
  /** Windows whose occurrence was over and that now have their next state. */
  readonly ended: number;
  /** Windows that ended because their rule can no longer be evaluated. */
  readonly brokenIds: readonly string[];
  /** Windows whose next state Postgres refuses even alone. The next call tries them again; ends can be excluded. */
  readonly refused: readonly RefusedRecord[];
}

/**
 * The maintenance clock: begins the occurrences that are due, then ends those that are over and plans the next ones, by one reading of
 * Postgres' clock. In this order, a monitor whose window ends when another begins stays covered. Several processes may run it at once;
 * locked windows are left for the next call. How it shares its time: docs/reference/maintenance.md#the-maintenance-clock.
 */
export async function advanceWindows(db: Database, options: AdvanceOptions = {}): Promise<AdvancedWindows> {
  const { budgetMs, plan = planWindow, behindMs = 0 } = options;
  const now = new Date((await readClock(db)) - behindMs);
  const written: WrittenPlan[] = [];
  const refused: RefusedRecord[] = [];
  const started = await beginOccurrences(db, now, (record) => refused.push(record));
  const write = async (plans: readonly WindowPlan[]): Promise<void> => {
    const items = plans.map((one) => ({ id: one.row.id, plan: one }));
    const writeItems = (tx: Transaction, some: readonly (typeof items)[number][]): Promise<WrittenPlan[]> =>
      writeLocked(
        tx,
        some.map((item) => item.plan),
      );
    written.push(...(await tryTogether(db, items, writeItems, (record) => refused.push(record))));
  };
  for (const kind of ['cheap', 'costly'] as const) {
    const startedAt = performance.now();
    let plans: WindowPlan[] = [];
    let writtenAt = startedAt;
    for (const row of await findOver(db, now, kind, options)) {
      plans.push(plan(row, now));
      await nextTurn();
      const time = performance.now();
      if (time - writtenAt >= WRITE_EVERY_MS || plans.length >= WRITTEN_AT_ONCE) {
        await write(plans);
        plans = [];
        writtenAt = performance.now();
      }
      if (time - startedAt >= (budgetMs ?? BUDGETS_MS[kind])) break;
    }
    await write(plans);
  }
  const lateness = (time: Date): number => (now.getTime() - time.getTime()) / 1_000;
  const next = written.flatMap((one) => (one.state === 'running' ? (one.next ?? []) : []));
  const completed = written.flatMap((one) => (one.outcome === 'completed' ? (one.ended ?? []) : []));
  return {
    startedLate: [...started, ...next.map(({ startsAt }) => startsAt)].map(lateness),
    endedLate: completed.map(({ endsAt }) => lateness(endsAt)),
    ended: written.length,
    brokenIds: written.filter(({ broken }) => broken).map(({ row }) => row.id),
    refused,
  };
}

/** @returns when each should have begun */
async function beginOccurrences(
  db: Database,
  now: Date,
  onRefused: (record: RefusedRecord) => void,
): Promise<Date[]> {
  const { id, occurrenceStartsAt, occurrenceEndsAt, state } = maintenanceWindows;
  const isDue = and(eq(state, 'scheduled'), lte(occurrenceStartsAt, now), gt(occurrenceEndsAt, now));
  const begin = async (tx: Transaction, windows: readonly { readonly id: string }[]): Promise<Date[]> => {
    const among = and(
      isDue,
      inArray(
        id,
        windows.map((one) => one.id),
      ),
    );
    const due = tx
      .select({ id })
      .from(maintenanceWindows)
      .where(among)
      .for('no key update', { skipLocked: true });
    // An array, so that the locking search runs once.
    const isFound = sql`${id} = any(array(${due}))`;
    const begun = tx.update(maintenanceWindows).set({ state: 'running' }).where(isFound);
    const rows = await begun.returning({ startsAt: occurrenceStartsAt });
    return rows.flatMap(({ startsAt }) => startsAt ?? []);
  };
  const started: Date[] = [];
  for (let after: string | undefined = NIL; after !== undefined;) {
    const isNext = and(isDue, gt(id, after));
    const windows = await db
      .select({ id })
      .from(maintenanceWindows)
      .where(isNext)
      .orderBy(id)
      .limit(BEGUN_AT_ONCE);
    started.push(...(await tryTogether(db, windows, begin, onRefused)));
    after = windows.length === BEGUN_AT_ONCE ? windows.at(-1)?.id : undefined;
  }
  return started;
}

/**
 * Windows whose occurrence is over. Accounts take turns; each begins with the window that ended first. The order of accounts is random:
 * no account is always last, and concurrent processes begin with different windows.
 * @param kind whether their rule may be costly
 */
async function findOver(
  db: Database,
  now: Date,
  kind: 'cheap' | 'costly',
  { among = null, excludedIds = [] }: AdvanceOptions,
): Promise<MaintenanceWindowRow[]> {
  const { accountId, id, occurrenceEndsAt, rrule, state } = maintenanceWindows;
  const isCostly = sql`coalesce(${rrule} ~ ${COSTLY_RULE}, false)`;
  const scope =
    among === null
      ? sql`${id} <> all(${arrayOf('uuid', excludedIds)})`
      : sql`${id} = any(${arrayOf('uuid', among)})`;
  const turn = sql`row_number() over (partition by ${accountId} order by ${occurrenceEndsAt}, ${id})`;
  return db
    .select()
    .from(maintenanceWindows)
    .where(
      and(
        ne(state, 'ended'),
        lte(occurrenceEndsAt, now),
        kind === 'costly' ? isCostly : not(isCostly),
        scope,
      ),
    )
    .orderBy(turn, sql`random()`)
    .limit(READ_AT_ONCE);
}

type WrittenPlan = WindowPlan & { readonly outcome: MaintenanceOutcome };

/** Writes the plans of windows that have not changed since they were read. @returns the written ones, with their outcomes */
async function writeLocked(tx: Transaction, plans: readonly WindowPlan[]): Promise<WrittenPlan[]> {
  const planned = tableOf('u', plans, {
    id: ['uuid', ({ row }) => row.id],
    old_state: ['text', ({ row }) => row.state],
    old_ends_at: ['timestamptz', ({ row }) => row.occurrenceEndsAt],
    state: ['text', ({ state }) => state],
    starts_at: ['timestamptz', ({ next }) => next?.startsAt ?? null],
    ends_at: ['timestamptz', ({ next }) => next?.endsAt ?? null],
  });
  const ids = await queryColumn(tx)`
    with planned as (select * from ${planned}), unchanged as (
      select w.id from maintenance_windows w
      join planned u on u.id = w.id and u.old_state = w.state and u.old_ends_at = w.occurrence_ends_at
      order by w.id for no key update of w skip locked
    )
    update maintenance_windows w set
      state = u.state, occurrence_starts_at = u.starts_at, occurrence_ends_at = u.ends_at
    from planned u join unchanged using (id)
    where w.id = u.id
    returning w.id`;
  const outcomeOf = await readOutcomes(tx, ids);
  const written = plans
    .filter(({ row }) => ids.includes(row.id))
    .map((plan) => Object.assign(plan, { outcome: outcomeOf(plan.row) }));
  const past = written.flatMap(({ row: { id: windowId }, ended, missed, outcome }) => [
    ...(ended ? [{ windowId, ...ended, outcome }] : []),
    ...missed.map((occurrence) => Object.assign({ windowId, outcome: 'missed' as const }, occurrence)),
  ]);
  if (past.length > 0) await tx.insert(maintenanceOccurrences).values(past).onConflictDoNothing();
  const ended = written.filter(({ state }) => state === 'ended');
  await deleteWindowMatches(
    tx,
    ended.map(({ row }) => row.id),
  );
  return written;
}

/** How many missed occurrences are recorded; after a longer outage, the rest are skipped. */
const MAX_MISSED = 200;
/** No rule repeats within a minute: if the end is noticed sooner, nothing was missed. */
const SHORTEST_GAP_MS = 60_000;

/** The next state of a window whose occurrence is over. */
export interface WindowPlan {
  readonly row: MaintenanceWindowRow;
  readonly state: MaintenanceWindowState;
  readonly next: Occurrence | null;
  /** The occurrence that is over; null: there was none. */
  readonly ended: Occurrence | null;
  /** Later occurrences that also passed while no service was running. */
  readonly missed: readonly Occurrence[];
  /** Its rule can no longer be evaluated. */
  readonly broken: boolean;
}

/** Plans what follows the stored occurrence. Evaluates the rule, which takes tens of milliseconds for a costly one. */
export function planWindow(row: MaintenanceWindowRow, now: Date): WindowPlan {
  const ended = storedOccurrence(row);
  const over = { row, state: 'ended', next: null, ended, missed: [], broken: false } as const;
  if (ended === null) return over;
  try {
    const next = followingOccurrence(row, ended, now);
    const late = now.getTime() - ended.endsAt.getTime() >= SHORTEST_GAP_MS;
    const missed = late ? passedOccurrences(row, ended, now, MAX_MISSED) : [];
    const state = next === null ? 'ended' : next.startsAt <= now ? 'running' : 'scheduled';
    return { ...over, state, next, missed };
  } catch {
    return { ...over, broken: true };
  }
}
