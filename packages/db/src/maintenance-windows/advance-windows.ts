import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Occurrence } from '@tocsin/core/maintenance/occurrences';
import { planWindow, type WindowPlan } from '@tocsin/core/maintenance/plan-window';
import { and, eq, gt, lte, ne, not, sql } from 'drizzle-orm';
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

/** Time limits for planning windows with cheap and with costly rules in one call. In between, monitors leave maintenance. */
const BUDGETS_MS = { cheap: 500, costly: 100 };
/** Matches rules whose evaluation may take tens of milliseconds. */
const COSTLY_RULE = 'COUNT=|BYSETPOS=|FREQ=YEARLY';
/** Plans are written in batches, so that an end waits at most this long, plus the evaluation of one rule. */
const WRITE_EVERY_MS = 50;
/** Windows per transaction. It reads all of their monitors, and must end long before its timeout. */
const MAX_WRITE_BATCH_SIZE = 20;
const MAX_BEGIN_BATCH_SIZE = 500;
const MAX_READ_BATCH_SIZE = 500;

export interface AdvanceOptions {
  /** Time limit for cheap rules, and again for costly ones. At least one window of each kind is planned. Defaults to 500 and 100 ms. */
  readonly budgetMs?: number;
  readonly plan?: typeof planWindow;
  /** Handles only windows that became due at least this long ago, so that other processes go first. Defaults to 0. */
  readonly behindMs?: number;
  /** Ends only these windows. Defaults to null, which means all windows that are over. */
  readonly among?: readonly string[] | null;
  /** Windows to skip. Defaults to none. */
  readonly excludedIds?: readonly string[];
}

export interface AdvancedWindows {
  /** Delay of each begun or ended occurrence in seconds, without missed ones. */
  readonly startedLate: readonly number[];
  readonly endedLate: readonly number[];
  /** Number of windows whose occurrence was over and that now have their next state. */
  readonly ended: number;
  /** Windows that ended because their rule can no longer be evaluated. */
  readonly brokenIds: readonly string[];
  /** Windows whose plan PostgreSQL refuses even alone. The next call tries them again, unless they are excluded. */
  readonly refused: readonly RefusedRecord[];
}

/**
 * Runs the maintenance clock once. Begins occurrences that are due, then ends those that are over and plans the next ones, by one reading of
 * PostgreSQL's clock. In this order, a monitor whose window ends when another begins stays in maintenance. Several processes may run it at
 * once. Locked windows are left for the next call. docs/concepts/maintenance.md#the-maintenance-clock describes how it shares its time.
 */
export async function advanceWindows(db: Database, options: AdvanceOptions = {}): Promise<AdvancedWindows> {
  const { budgetMs, plan = planWindow, behindMs = 0 } = options;
  const now = new Date((await readClock(db)) - behindMs);
  const written: WrittenPlan[] = [];
  const refused: RefusedRecord[] = [];
  const started = await beginOccurrences(db, now);
  const write = async (plans: readonly PlannedWindow[]): Promise<void> => {
    const items = plans.map((one) => ({ id: one.row.id, plan: one }));
    const writeItems = (tx: Transaction, some: readonly (typeof items)[number][]): Promise<WrittenPlan[]> =>
      writeLocked(
        tx,
        some.map((item) => item.plan),
      );
    const tried = await tryTogether(db, items, writeItems, (record) => refused.push(record));
    written.push(...tried.results);
  };
  for (const kind of ['cheap', 'costly'] as const) {
    const startedAt = performance.now();
    let plans: PlannedWindow[] = [];
    let writtenAt = startedAt;
    for (const row of await findOver(db, now, kind, options)) {
      const ended = storedOccurrence(row);
      plans.push({ row, ended, ...plan(row, ended, now) });
      await nextTurn();
      const time = performance.now();
      if (time - writtenAt >= WRITE_EVERY_MS || plans.length >= MAX_WRITE_BATCH_SIZE) {
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

/** Begins due occurrences. @returns when each should have begun */
async function beginOccurrences(db: Database, now: Date): Promise<Date[]> {
  const { id, occurrenceStartsAt, occurrenceEndsAt, state } = maintenanceWindows;
  const isDue = and(eq(state, 'scheduled'), lte(occurrenceStartsAt, now), gt(occurrenceEndsAt, now));
  const started: Date[] = [];
  let count: number;
  do {
    const due = db
      .select({ id })
      .from(maintenanceWindows)
      .where(isDue)
      .limit(MAX_BEGIN_BATCH_SIZE)
      .for('no key update', { skipLocked: true });
    // The ids are an array, so that the limited search runs once.
    const isFound = sql`${id} = any(array(${due}))`;
    const begun = db.update(maintenanceWindows).set({ state: 'running' }).where(isFound);
    const rows = await begun.returning({ startsAt: occurrenceStartsAt });
    started.push(...rows.flatMap(({ startsAt }) => startsAt ?? []));
    count = rows.length;
  } while (count === MAX_BEGIN_BATCH_SIZE);
  return started;
}

/** Finds windows to end. Accounts take turns in random order, so that no account is always last, and processes begin with different windows. */
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
  const round = sql`row_number() over (partition by ${accountId} order by ${occurrenceEndsAt}, ${id})`;
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
    .orderBy(round, sql`random()`)
    .limit(MAX_READ_BATCH_SIZE);
}

interface PlannedWindow extends WindowPlan {
  readonly row: MaintenanceWindowRow;
  /** Occurrence that just ended, or null. */
  readonly ended: Occurrence | null;
}

type WrittenPlan = PlannedWindow & { readonly outcome: MaintenanceOutcome };

/** Writes the plans of windows that have not changed since they were read. @returns the written plans with their outcomes */
async function writeLocked(tx: Transaction, plans: readonly PlannedWindow[]): Promise<WrittenPlan[]> {
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
  const endedIds = written.flatMap(({ state, row }) => (state === 'ended' ? row.id : []));
  await deleteWindowMatches(tx, endedIds);
  return written;
}
