import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';

/** The windows that hold a monitor and are not over: those that run first, then by when they begin. */
export function maintenanceOf(
  monitorId: string,
  windows: readonly ListedMaintenanceWindow[],
): ListedMaintenanceWindow[] {
  return windows
    .filter(({ monitorIds, state }) => state !== 'ended' && monitorIds.includes(monitorId))
    .sort((one, other) => startOf(one).localeCompare(startOf(other)));
}

/** When the last of the windows that run now ends: until then nothing alerts. Null where none runs. */
export function silentUntil(windows: readonly ListedMaintenanceWindow[]): string | null {
  const ends = windows.flatMap(({ currentOccurrence }) =>
    currentOccurrence === null ? [] : [currentOccurrence.endsAt],
  );
  return ends.sort().at(-1) ?? null;
}

function startOf({ currentOccurrence, nextOccurrence, startsAt }: ListedMaintenanceWindow): string {
  // An occurrence that runs has begun before anything that is to come.
  return (currentOccurrence ?? nextOccurrence)?.startsAt ?? startsAt;
}
