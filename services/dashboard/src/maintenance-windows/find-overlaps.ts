import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { finderOf, type Occurrence } from './occurrences.ts';

/** Another window that takes place at the same time on some of the same monitors. */
export interface Overlap {
  readonly window: ListedMaintenanceWindow;
  /** When both begin to run: ISO 8601. */
  readonly at: string;
  readonly monitorCount: number;
}

/** Beyond so many with monitors in common the others are not looked at. */
const MOST_COMPARED = 50;

/** Windows that overlap with one of these occurrences. @param ownId the window that is being changed, if it exists */
export function findOverlaps(
  occurrences: readonly Occurrence[],
  monitorIds: ReadonlySet<string>,
  windows: readonly ListedMaintenanceWindow[],
  ownId: string | null,
): Overlap[] {
  return windows
    .filter(({ id, state }) => id !== ownId && state !== 'ended')
    .map((window) => ({
      window,
      monitorCount: window.monitorIds.filter((id) => monitorIds.has(id)).length,
    }))
    .filter(({ monitorCount }) => monitorCount > 0)
    .slice(0, MOST_COMPARED)
    .flatMap(({ window, monitorCount }) => {
      const at = firstMeeting(occurrences, window);
      return at === null ? [] : [{ window, at, monitorCount }];
    });
}

function firstMeeting(occurrences: readonly Occurrence[], window: ListedMaintenanceWindow): string | null {
  const find = finderOf(window);
  for (const { startsAt, endsAt } of occurrences) {
    const other = find(Date.parse(startsAt));
    if (other !== null && Date.parse(other.startsAt) < Date.parse(endsAt))
      return new Date(Math.max(Date.parse(other.startsAt), Date.parse(startsAt))).toISOString();
  }
  return null;
}
