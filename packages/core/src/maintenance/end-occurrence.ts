import { firstStarts, followingOccurrence, type Occurrence, type WindowSchedule } from './occurrences.ts';
import { isCounted, MOST_OCCURRENCES } from './rrule-text.ts';

/**
 * The schedule of a window whose occurrence that runs ends at `now`: it begins with the next one, as long as before and in its number,
 * and where none is left it was this one alone. An end that comes sooner would shorten every later one too.
 */
export function endOccurrence(window: WindowSchedule, current: Occurrence, now: Date): WindowSchedule {
  const next = followingOccurrence(window, current, now);
  if (next !== null) return { ...window, ...next, rrule: withWhatIsLeft(window, next) };
  const soonest = current.startsAt.getTime() + 1;
  const endsAt = new Date(Math.max(now.getTime(), soonest));
  return { ...window, startsAt: current.startsAt, endsAt, rrule: null };
}

/** COUNT counts from the first occurrence on, which is now another one. */
function withWhatIsLeft(window: WindowSchedule, { startsAt }: Occurrence): string | null {
  const { rrule } = window;
  if (rrule === null || !isCounted(rrule)) return rrule;
  const { starts } = firstStarts(window, MOST_OCCURRENCES);
  const left = starts.filter((start) => start >= startsAt.getTime()).length;
  return rrule.replace(/COUNT=\+?\d+/, `COUNT=${Math.max(1, left)}`);
}
