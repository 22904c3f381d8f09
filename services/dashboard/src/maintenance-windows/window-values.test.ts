import { expect, test } from '@jest/globals';
import type {
  ListedMaintenanceWindow,
  MaintenanceWindow,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { toFormErrors } from '../components/form.ts';
import { sortWindows } from './queries.ts';
import {
  findErrors,
  lengthOf,
  newValues,
  placeOverlap,
  toBody,
  toPreviewBody,
  toUpdate,
  valuesOf,
  type WindowValues,
  withDuration,
  withLength,
  withStart,
} from './window-values.ts';

const MONITOR = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
const HOUR_MS = 3_600_000;
const values: WindowValues = {
  ...newValues([MONITOR], 'Europe/Berlin', Date.parse('2026-03-14T10:20:00Z')),
  name: 'Backups',
};
test('newValues starts at the next full hour and lasts an hour', () => {
  const times = { startsAt: '2026-03-14T11:00:00.000Z', endsAt: '2026-03-14T12:00:00.000Z' };
  const coverage = { monitorIds: [MONITOR], allMonitors: false, selector: null };
  const timeZone = 'Europe/Berlin';
  expect(toBody(values)).toEqual({ name: 'Backups', ...times, rrule: null, timeZone, ...coverage });
  expect(findErrors(values)).toEqual([]);
});

test('a new start or length moves the end by elapsed time, or by local time if the window recurs', () => {
  const moved = withStart(values, '2026-03-29T01:30', HOUR_MS);
  expect(moved.endsAt).toBe('2026-03-29T03:30');
  expect(lengthOf(moved)).toBe(HOUR_MS);
  const daily = { ...moved, repeat: 'daily' } as const;
  expect([lengthOf(daily), withLength(daily, 8 * HOUR_MS).endsAt]).toEqual([2 * HOUR_MS, '2026-03-29T09:30']);
  expect(withStart(values, '', HOUR_MS).endsAt).toBe(values.endsAt);
  expect(withLength(values, 26 * HOUR_MS).endsAt).toBe('2026-03-15T14:00');
});

test('a typed duration moves the end only if it is valid', () => {
  expect(withDuration(values, '1:30')).toMatchObject({ endsAt: '2026-03-14T13:30', duration: null });
  const invalid = withDuration(values, 'banana');
  expect(invalid).toMatchObject({ endsAt: values.endsAt, duration: 'banana' });
  expect(withDuration(invalid, '2 h')).toMatchObject({ endsAt: '2026-03-14T14:00', duration: null });
});

test('toPreviewBody returns null while a time or the duration is invalid', () => {
  const { name: _, ...body } = toBody(values);
  expect(toPreviewBody(values, null)).toEqual(body);
  expect(toPreviewBody(values, MONITOR)).toEqual({ ...body, maintenanceWindowId: MONITOR });
  for (const faulty of [{ startsAt: '' }, { endsAt: '' }, { endsAt: values.startsAt }])
    expect(toPreviewBody({ ...values, ...faulty }, null)).toBeNull();
  for (const text of ['0', '400 d', '-5 min', 'banana', ''])
    expect(toPreviewBody(withDuration(values, text), null)).toBeNull();
});

test.each<[string, Partial<WindowValues>]>([
  ['name', { name: ' ' }],
  ['startsAt', { startsAt: '2026-03-29T02:30', endsAt: '2026-03-29T04:00' }],
  ['endsAt', { endsAt: '2026-03-14T11:00' }],
  ['duration', { duration: 'banana' }],
  ['monitorIds', { monitorIds: [] }],
  ['selector', { monitorIds: [], selector: 'app in shop' }],
  ['rrule', { repeat: 'custom' }],
  ['every', { repeat: 'daily', every: 0 }],
  ['until', { repeat: 'daily', ends: 'until' }],
  ['count', { repeat: 'daily', ends: 'count', count: 400 }],
])('findErrors reports an error at %s for %j', (path, faulty) => {
  expect(Object.keys(toFormErrors(findErrors({ ...values, ...faulty })))).toEqual([path]);
});

test('placeOverlap shows an overlap at the duration, unless the duration has its own error', () => {
  const rrule =
    'Must let each occurrence end before the next one starts: endsAt must be at most 7 d after startsAt.';
  const duration = 'Each occurrence must end before the next one starts: use a duration of at most 7 d.';
  expect(placeOverlap({ rrule, name: 'Is required.' })).toEqual({ duration, name: 'Is required.' });
  expect(placeOverlap({ rrule, duration: 'Enter a duration.' })).toEqual({ duration: 'Enter a duration.' });
  expect(placeOverlap({ rrule: 'Must contain FREQ.' })).toEqual({ rrule: 'Must contain FREQ.' });
});

/** Starts at the second 02:30 of the night when the clocks go back. */
const WINDOW = {
  ...toBody(values),
  id: MONITOR,
  startsAt: '2026-10-25T01:30:00.000Z',
  endsAt: '2026-10-25T04:00:00.000Z',
} as MaintenanceWindow;

test.each<[Partial<WindowValues>, string[]]>([
  [{}, []],
  [{ name: 'Other' }, ['name']],
  [{ timeZone: 'UTC' }, ['startsAt', 'endsAt', 'timeZone']],
  [{ repeat: 'daily' }, ['rrule']],
  [{ selector: 'app=shop' }, ['selector']],
])('an update of %j contains only the fields %j', (change, fields) => {
  const before = valuesOf(WINDOW);
  expect(Object.keys(toUpdate(before, { ...before, ...change }))).toEqual(fields);
});

test('an update replaces a selector that matches every monitor when monitors are selected', () => {
  const before = valuesOf({ ...WINDOW, selector: {} });
  expect([before.allMonitors, toUpdate(before, before)]).toEqual([true, {}]);
  const body = { monitorIds: [MONITOR], allMonitors: false, selector: null };
  expect(toUpdate(before, { ...before, allMonitors: false })).toEqual(body);
});

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
] as const)('sortWindows sorts %s windows by what happens next', (state, ids) => {
  expect(sortWindows(windows, state).map(({ id }) => id)).toEqual(ids);
});
