import { expect, test } from '@jest/globals';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { sortWindows } from './queries.ts';

const at = (hour: string): { startsAt: string; endsAt: string } => ({
  startsAt: `2026-03-14T${hour}:00:00.000Z`,
  endsAt: `2026-03-14T${hour}:30:00.000Z`,
});
const windows = [
  { id: 'late', state: 'scheduled', ...at('01'), nextOccurrence: at('20') },
  { id: 'runs on', state: 'running', ...at('01'), currentOccurrence: at('12') },
  { id: 'soon', state: 'scheduled', ...at('02'), nextOccurrence: at('14') },
  { id: 'runs', state: 'running', ...at('03'), currentOccurrence: at('11') },
  { id: 'long over', state: 'ended', ...at('01'), updatedAt: '2026-01-01T00:00:00.000Z' },
  { id: 'just over', state: 'ended', ...at('01'), updatedAt: '2026-03-01T00:00:00.000Z' },
] as ListedMaintenanceWindow[];

test.each([
  ['running', ['runs', 'runs on']],
  ['scheduled', ['soon', 'late']],
  ['ended', ['just over', 'long over']],
] as const)('sorts %s windows by what happens next', (state, ids) => {
  expect(sortWindows(windows, state).map(({ id }) => id)).toEqual(ids);
});
