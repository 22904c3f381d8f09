import { expect, test } from '@jest/globals';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { findOverlaps } from './find-overlaps.ts';

const window = (fields: Partial<ListedMaintenanceWindow>): ListedMaintenanceWindow => ({
  id: 'other',
  name: 'Backups',
  startsAt: '2026-03-14T01:00:00.000Z',
  endsAt: '2026-03-14T03:00:00.000Z',
  monitorIds: ['a', 'b'],
  rrule: 'FREQ=WEEKLY;BYDAY=SA',
  timeZone: 'UTC',
  state: 'scheduled',
  currentOccurrence: null,
  nextOccurrence: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  ...fields,
});
/** The second one is a Saturday, far ahead. */
const mine = [
  { startsAt: '2026-05-01T02:00:00.000Z', endsAt: '2026-05-01T04:00:00.000Z' },
  { startsAt: '2026-05-02T02:00:00.000Z', endsAt: '2026-05-02T04:00:00.000Z' },
];
const ids = new Set(['b', 'c']);

test('finds who silences the same monitors at the same time, and from when', () => {
  expect(findOverlaps(mine, ids, [window({})], null)).toEqual([
    { window: window({}), at: '2026-05-02T02:00:00.000Z', monitorCount: 1 },
  ]);
});

test.each([
  ['itself', window({ id: 'own' })],
  ['one that is over', window({ state: 'ended' })],
  ['one with other monitors', window({ monitorIds: ['a'] })],
  ['one at another time', window({ rrule: 'FREQ=WEEKLY;BYDAY=MO' })],
  ['one that ends when it begins', window({ endsAt: '2026-03-14T02:00:00.000Z' })],
])('leaves out %s', (_what, other) => {
  expect(findOverlaps(mine, ids, [other], 'own')).toEqual([]);
});
