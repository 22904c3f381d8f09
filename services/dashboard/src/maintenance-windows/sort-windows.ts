import type { ListedMaintenanceWindow, MaintenanceWindowState } from '@tocsin/contracts/maintenance-window';

/** Those in a state: what runs by its end, what is to come by its start, what is over by its last change, the latest first. */
export function sortWindows(
  windows: readonly ListedMaintenanceWindow[],
  state: MaintenanceWindowState,
): ListedMaintenanceWindow[] {
  const found = windows.filter((window) => window.state === state);
  switch (state) {
    case 'running':
      return found.sort(by((window) => window.currentOccurrence?.endsAt ?? window.endsAt));
    case 'scheduled':
      return found.sort(by((window) => window.nextOccurrence?.startsAt ?? window.startsAt));
    case 'ended':
      return found.sort(by((window) => window.updatedAt)).toReversed();
  }
}

function by(
  time: (window: ListedMaintenanceWindow) => string,
): (a: ListedMaintenanceWindow, b: ListedMaintenanceWindow) => number {
  return (a, b) => Date.parse(time(a)) - Date.parse(time(b));
}
