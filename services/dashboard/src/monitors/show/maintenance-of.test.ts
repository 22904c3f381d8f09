import { expect, test } from '@jest/globals';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { maintenanceOf, silentUntil } from './maintenance-of.ts';

const at = (hour: number): string => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();

function windowOf(name: string, change: Partial<ListedMaintenanceWindow>): ListedMaintenanceWindow {
  return {
    id: name,
    name,
    startsAt: at(0),
    endsAt: at(1),
    monitorIds: ['m'],
    rrule: null,
    timeZone: 'UTC',
    state: 'scheduled',
    currentOccurrence: null,
    nextOccurrence: null,
    createdAt: at(0),
    updatedAt: at(0),
    ...change,
  };
}

const LATER = windowOf('later', { nextOccurrence: { startsAt: at(9), endsAt: at(10) } });
const SOON = windowOf('soon', { nextOccurrence: { startsAt: at(5), endsAt: at(6) } });
const RUNNING = windowOf('running', {
  state: 'running',
  currentOccurrence: { startsAt: at(3), endsAt: at(8) },
});
const LONGER = windowOf('longer', {
  state: 'running',
  currentOccurrence: { startsAt: at(4), endsAt: at(11) },
});

test('what runs comes first, then what is next; what is over or of others is left out', () => {
  const windows = [
    LATER,
    SOON,
    RUNNING,
    windowOf('over', { state: 'ended' }),
    windowOf('another', { monitorIds: ['n'] }),
  ];
  expect(maintenanceOf('m', windows).map(({ name }) => name)).toEqual(['running', 'soon', 'later']);
});

test('the silence ends with the last of the windows that run', () => {
  expect(silentUntil([LATER])).toBeNull();
  expect(silentUntil([LONGER, RUNNING, LATER])).toBe(at(11));
});
