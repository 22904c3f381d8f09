import type { MaintenanceWindowState } from '@tocsin/contracts/maintenance-window';
import {
  followingOccurrence,
  passedOccurrences,
  type Occurrence,
} from '@tocsin/core/maintenance/occurrences';
import type { MaintenanceWindowRow } from './table.ts';
import { storedOccurrence } from './window-record.ts';

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
