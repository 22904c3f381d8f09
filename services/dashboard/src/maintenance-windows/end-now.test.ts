import { expect, test } from '@jest/globals';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { endNowUpdate } from './end-now.ts';

const current = { startsAt: '2026-03-21T01:00:00.000Z', endsAt: '2026-03-21T03:00:00.000Z' };
const next = { startsAt: '2026-03-28T01:00:00.000Z', endsAt: '2026-03-28T03:00:00.000Z' };
const NOW = '2026-03-21T02:00:00.000Z';

const end = (fields: Partial<MaintenanceWindow>): ReturnType<typeof endNowUpdate> =>
  endNowUpdate(
    {
      startsAt: '2026-03-14T01:00:00.000Z',
      endsAt: '2026-03-14T03:00:00.000Z',
      timeZone: 'UTC',
      currentOccurrence: current,
      nextOccurrence: next,
      ...fields,
    } as MaintenanceWindow,
    Date.parse(NOW),
  );

test('a window that takes place once ends now', async () => {
  expect(await end({ ...current, rrule: null, nextOccurrence: null })).toEqual({ endsAt: NOW });
});

test('one that recurs goes on with its next occurrence, as long as before', async () => {
  expect(await end({ rrule: 'FREQ=WEEKLY' })).toEqual(next);
});

test('one that counts keeps what is left', async () => {
  expect(await end({ rrule: 'FREQ=WEEKLY;COUNT=5' })).toEqual({ ...next, rrule: 'FREQ=WEEKLY;COUNT=3' });
});

test('the last occurrence of one that recurs is all that was left', async () => {
  const update = await end({ rrule: 'FREQ=WEEKLY;COUNT=2', nextOccurrence: null });
  expect(update).toEqual({ startsAt: current.startsAt, endsAt: NOW, rrule: null });
});
