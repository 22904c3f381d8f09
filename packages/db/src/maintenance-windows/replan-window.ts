import { nextOccurrence, type WindowSchedule } from '@tocsin/core/maintenance/occurrences';
import { eq, sql } from 'drizzle-orm';
import { clockNow } from '../database/columns.ts';
import type { Transaction } from '../database/open.ts';
import { readDatabaseClock } from './database-clock.ts';
import { readOutcomes } from './read-outcomes.ts';
import { maintenanceOccurrences, maintenanceWindows, type MaintenanceWindowRow } from './table.ts';
import { currentOccurrence, storedOccurrence } from './window-record.ts';

type PlanColumns = Pick<MaintenanceWindowRow, 'state' | 'occurrenceStartsAt' | 'occurrenceEndsAt'>;

/**
 * The occurrence that a new schedule has now or next. What has begun and does not go on is noted: as cut short, or where it was over
 * before the clock looked at it, as it ended.
 */
export async function replan(
  tx: Transaction,
  before: MaintenanceWindowRow,
  schedule: WindowSchedule,
): Promise<PlanColumns> {
  const now = await readDatabaseClock(tx);
  const occurrence = nextOccurrence(schedule, now);
  const stored = storedOccurrence(before);
  const hasBegun = stored !== null && stored.startsAt <= now;
  // An occurrence that is over, but was not ended by the clock yet, goes on where its end alone is moved.
  const mayGoOn =
    currentOccurrence(before, now) !== null || stored?.startsAt.getTime() === occurrence?.startsAt.getTime();
  const goesOn = hasBegun && mayGoOn && occurrence !== null && occurrence.startsAt <= now;
  if (hasBegun && !goesOn) {
    const isOver = stored.endsAt <= now;
    const outcome = isOver ? (await readOutcomes(tx, [before.id]))(before) : 'cut_short';
    const endsAt = isOver ? stored.endsAt : now;
    await tx
      .insert(maintenanceOccurrences)
      .values({ windowId: before.id, startsAt: stored.startsAt, endsAt, outcome })
      .onConflictDoNothing();
  }
  return {
    state: occurrence === null ? 'ended' : goesOn ? 'running' : 'scheduled',
    occurrenceStartsAt: occurrence?.startsAt ?? null,
    occurrenceEndsAt: occurrence?.endsAt ?? null,
  };
}

/** Writes the columns of a window that is locked. @returns the row as it is then */
export async function writeWindow(
  tx: Transaction,
  id: string,
  columns: Partial<WindowSchedule & PlanColumns & Pick<MaintenanceWindowRow, 'name'>>,
): Promise<MaintenanceWindowRow> {
  const updatedAt = sql`greatest(${clockNow}, ${maintenanceWindows.updatedAt} + interval '1 millisecond')`;
  const [after] = await tx
    .update(maintenanceWindows)
    .set({ ...columns, updatedAt })
    .where(eq(maintenanceWindows.id, id))
    .returning();
  if (!after) throw new Error('update returned no row');
  return after;
}
