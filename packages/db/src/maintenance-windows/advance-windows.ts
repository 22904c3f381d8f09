import type { MaintenanceWindowState } from '@tocsin/contracts/maintenance-window';
import { followingOccurrence, nextOccurrence, type Occurrence } from '@tocsin/core/maintenance/occurrences';
import { and, lte, ne, sql } from 'drizzle-orm';
import { columnOf } from '../database/arrays.ts';
import type { Database } from '../database/open.ts';
import { readDatabaseClock } from './database-clock.ts';
import {
  maintenanceOccurrences,
  maintenanceWindows,
  type MaintenanceOutcome,
  type MaintenanceWindowRow,
} from './table.ts';
import { storedOccurrence } from './window-record.ts';

/** Windows whose occurrence is ended in one transaction. */
const ENDS_AT_ONCE = 100;
/** Missed occurrences that are noted one by one; of a longer absence the rest is passed over. */
const MOST_MISSED = 200;

/** What the clock did to the windows. */
export interface AdvancedWindows {
  /** How late each occurrence began or ended, in seconds; one that was missed did neither. */
  readonly startedLate: readonly number[];
  readonly endedLate: readonly number[];
  /** Windows that ended since their rule cannot be read any more. */
  readonly brokenIds: readonly string[];
}

interface Step {
  readonly id: string;
  readonly state: MaintenanceWindowState;
  readonly next: Occurrence | null;
  readonly past: readonly (Occurrence & { readonly outcome: MaintenanceOutcome })[];
  readonly broken: boolean;
}

/**
 * Begins the occurrences that are due, then ends those that are over and plans the next ones, by Postgres' clock (design §4
 * "Maintenance"). In this order and by one reading of the clock, so that a monitor whose window ends when
 * another begins stays covered. Safe in several processes at once.
 */
export async function advanceWindows(db: Database): Promise<AdvancedWindows> {
  const now = await readDatabaseClock(db);
  const { rows: started } = await db.execute<{ late: number }>(sql`
    update maintenance_windows set state = 'running'
    where state = 'scheduled' and occurrence_starts_at <= ${now.toISOString()}
      and occurrence_ends_at > ${now.toISOString()}
    returning extract(epoch from ${now.toISOString()}::timestamptz - occurrence_starts_at)::float8 as late`);
  const startedLate = started.map(({ late }) => late);
  const endedLate: number[] = [];
  const brokenIds: string[] = [];
  for (;;) {
    const steps = await endOccurrences(db, now);
    for (const step of steps) {
      for (const past of step.past) {
        if (past.outcome === 'completed') endedLate.push((now.getTime() - past.endsAt.getTime()) / 1_000);
      }
      if (step.state === 'running' && step.next) {
        startedLate.push((now.getTime() - step.next.startsAt.getTime()) / 1_000);
      }
      if (step.broken) brokenIds.push(step.id);
    }
    if (steps.length < ENDS_AT_ONCE) return { startedLate, endedLate, brokenIds };
  }
}

async function endOccurrences(db: Database, now: Date): Promise<Step[]> {
  return db.transaction(async (tx) => {
    const rows = await tx
      .select()
      .from(maintenanceWindows)
      .where(and(ne(maintenanceWindows.state, 'ended'), lte(maintenanceWindows.occurrenceEndsAt, now)))
      .orderBy(maintenanceWindows.id)
      .limit(ENDS_AT_ONCE)
      .for('update', { skipLocked: true });
    if (rows.length === 0) return [];
    const steps = rows.map((row) => stepOf(row, now));
    await tx.execute(sql`
      update maintenance_windows w set
        state = u.state, occurrence_starts_at = u.starts_at, occurrence_ends_at = u.ends_at
      from unnest(
        ${columnOf(steps, 'uuid', ({ id }) => id)},
        ${columnOf(steps, 'text', ({ state }) => state)},
        ${columnOf(steps, 'timestamptz', ({ next }) => next?.startsAt.toISOString() ?? null)},
        ${columnOf(steps, 'timestamptz', ({ next }) => next?.endsAt.toISOString() ?? null)}
      ) as u (id, state, starts_at, ends_at)
      where w.id = u.id`);
    const past = steps.flatMap(({ id, past }) => past.map((one) => ({ windowId: id, ...one })));
    if (past.length > 0) await tx.insert(maintenanceOccurrences).values(past).onConflictDoNothing();
    return steps;
  });
}

/** What ended with the stored occurrence and since, and what comes next. */
function stepOf(row: MaintenanceWindowRow, now: Date): Step {
  const ended = storedOccurrence(row);
  if (ended === null) return { id: row.id, state: 'ended', next: null, past: [], broken: false };
  const past: Step['past'][number][] = [
    { ...ended, outcome: row.state === 'running' ? 'completed' : 'missed' },
  ];
  try {
    let next = followingOccurrence(row, ended);
    while (next !== null && next.endsAt <= now && past.length < MOST_MISSED) {
      past.push({ ...next, outcome: 'missed' });
      next = followingOccurrence(row, next);
    }
    if (next !== null && next.endsAt <= now) next = nextOccurrence(row, now);
    const state = next === null ? 'ended' : next.startsAt <= now ? 'running' : 'scheduled';
    return { id: row.id, state, next, past, broken: false };
  } catch {
    return { id: row.id, state: 'ended', next: null, past, broken: true };
  }
}
