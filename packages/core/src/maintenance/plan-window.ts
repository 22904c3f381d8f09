import type { MaintenanceWindowState } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import {
  followingOccurrence,
  type Occurrence,
  passedOccurrences,
  type WindowSchedule,
} from './occurrences.ts';

/** Maximum missed occurrences to record after an outage. */
const MAX_MISSED = 200;
/** No rule repeats within a minute, so an end that is noticed sooner has missed no occurrence. */
const SHORTEST_GAP_MS = 60_000;

/** Next state of a window after an occurrence. */
export interface WindowPlan {
  readonly state: MaintenanceWindowState;
  readonly next: Occurrence | null;
  /** Later occurrences that also passed while no service was running. */
  readonly missed: readonly Occurrence[];
  /** True if its rule can no longer be evaluated. */
  readonly broken: boolean;
}

/**
 * Plans what follows an occurrence. This can take tens of milliseconds for a costly rule.
 * @param ended the occurrence that just ended, or null
 */
export function planWindow(window: WindowSchedule, ended: Occurrence | null, now: Date): WindowPlan {
  const over = { state: 'ended', next: null, missed: [], broken: false } as const;
  if (ended === null) return over;
  try {
    const next = followingOccurrence(window, ended, now);
    const isLate = now.getTime() - ended.endsAt.getTime() >= SHORTEST_GAP_MS;
    const missed = isLate ? passedOccurrences(window, ended, now, MAX_MISSED) : [];
    const state = next === null ? 'ended' : next.startsAt <= now ? 'running' : 'scheduled';
    return { ...over, state, next, missed };
  } catch {
    return { ...over, broken: true };
  }
}
