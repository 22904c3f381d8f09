import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import type { WindowUpdateBody } from './queries.ts';

/**
 * The update that ends what runs now. A window that recurs goes on with its next occurrence: `endsAt` alone would shorten
 * every later one too.
 */
export async function endNowUpdate(window: MaintenanceWindow, nowMs: number): Promise<WindowUpdateBody> {
  const { currentOccurrence, nextOccurrence, rrule } = window;
  const startsAt = currentOccurrence?.startsAt ?? window.startsAt;
  if (rrule === null) return { endsAt: endAfter(startsAt, nowMs) };
  if (nextOccurrence === null) return { startsAt, endsAt: endAfter(startsAt, nowMs), rrule: null };
  const { startsAt: nextStart, endsAt: nextEnd } = nextOccurrence;
  if (!/(^|;)COUNT=/.test(rrule)) return { startsAt: nextStart, endsAt: nextEnd };
  // What is left is counted from the next one on.
  const { countFrom } = await import('./occurrences.ts');
  const left = Math.max(1, countFrom(window, Date.parse(nextStart)));
  return { startsAt: nextStart, endsAt: nextEnd, rrule: rrule.replace(/COUNT=\d+/, `COUNT=${left}`) };
}

/** Now, or a moment after the start where clocks differ. */
function endAfter(startsAt: string, nowMs: number): string {
  return new Date(Math.max(nowMs, Date.parse(startsAt) + 1)).toISOString();
}
