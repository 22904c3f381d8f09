import { describe, expect, test } from '@jest/globals';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { toFormErrors } from '../components/form.ts';
import {
  lengthOf,
  newValues,
  placeOverlap,
  toBody,
  toPreviewBody,
  toUpdate,
  findErrors,
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
const paths = (faulty: Partial<WindowValues>): string[] =>
  Object.keys(toFormErrors(findErrors({ ...values, ...faulty })));

test('newValues starts at the next full hour and lasts an hour', () => {
  expect(toBody(values)).toEqual({
    name: 'Backups',
    startsAt: '2026-03-14T11:00:00.000Z',
    endsAt: '2026-03-14T12:00:00.000Z',
    rrule: null,
    timeZone: 'Europe/Berlin',
    monitorIds: [MONITOR],
    allMonitors: false,
    selector: null,
  });
  expect(findErrors(values)).toEqual([]);
});

describe('withStart and withLength', () => {
  test('a new start moves the end by elapsed time', () => {
    const moved = withStart(values, '2026-03-29T01:30', HOUR_MS);
    expect(moved.endsAt).toBe('2026-03-29T03:30');
    expect(lengthOf(moved)).toBe(HOUR_MS);
    expect(withStart(values, '', HOUR_MS).endsAt).toBe(values.endsAt);
  });

  test('a typed duration moves the end only if it is valid', () => {
    expect(withDuration(values, '1:30')).toMatchObject({ endsAt: '2026-03-14T13:30', duration: null });
    const invalid = withDuration(values, 'banana');
    expect(invalid).toMatchObject({ endsAt: values.endsAt, duration: 'banana' });
    expect(withDuration(invalid, '2 h')).toMatchObject({ endsAt: '2026-03-14T14:00', duration: null });
  });

  test('a new length moves the end', () => {
    expect(withLength(values, 26 * HOUR_MS).endsAt).toBe('2026-03-15T14:00');
  });
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

describe('findErrors reports each error at its field', () => {
  test.each<[string, Partial<WindowValues>]>([
    ['name', { name: ' ' }],
    ['startsAt', { startsAt: '' }],
    ['startsAt', { startsAt: '2026-03-29T02:30', endsAt: '2026-03-29T04:00' }],
    ['endsAt', { endsAt: '2026-03-14T11:00' }],
    ['duration', { duration: 'banana' }],
    ['monitorIds', { monitorIds: [] }],
    ['selector', { selector: 'app in shop' }],
    ['selector', { monitorIds: [], selector: 'app in shop' }],
    ['rrule', { repeat: 'custom' }],
    ['every', { repeat: 'daily', every: 0 }],
    ['until', { repeat: 'daily', ends: 'until' }],
    ['count', { repeat: 'daily', ends: 'count', count: 400 }],
  ])('%s for %j', (path, faulty) => {
    expect(paths(faulty)).toEqual([path]);
  });
});

test('placeOverlap shows an overlap at the duration, unless that has an error of its own', () => {
  const rrule =
    'Must let each occurrence end before the next one starts: endsAt must be at most 7 d after startsAt.';
  const duration = 'Each occurrence must end before the next one starts: use a duration of at most 7 d.';
  expect(placeOverlap({ rrule, name: 'Is required.' })).toEqual({ duration, name: 'Is required.' });
  expect(placeOverlap({ rrule, duration: 'Enter a duration.' })).toEqual({ duration: 'Enter a duration.' });
  expect(placeOverlap({ rrule: 'Must contain FREQ.' })).toEqual({ rrule: 'Must contain FREQ.' });
});

describe('toUpdate', () => {
  // The second 02:30 of the night when the clocks go back.
  const window = {
    ...toBody(values),
    id: MONITOR,
    startsAt: '2026-10-25T01:30:00.000Z',
    endsAt: '2026-10-25T04:00:00.000Z',
  } as MaintenanceWindow;

  test('contains only changed fields', () => {
    const before = valuesOf(window);
    expect(toUpdate(before, before)).toEqual({});
    expect(toUpdate(before, { ...before, name: 'Other' })).toEqual({ name: 'Other' });
    expect(Object.keys(toUpdate(before, { ...before, timeZone: 'UTC' }))).toEqual([
      'startsAt',
      'endsAt',
      'timeZone',
    ]);
    expect(toUpdate(before, { ...before, repeat: 'daily' })).toEqual({ rrule: 'FREQ=DAILY' });
    expect(toUpdate(before, { ...before, selector: 'app=shop' })).toEqual({
      selector: { matchLabels: { app: 'shop' } },
    });
  });

  test('replaces a selector that matches every monitor when monitors are selected', () => {
    const before = valuesOf({ ...window, selector: {} });
    expect(before.allMonitors).toBe(true);
    expect(toUpdate(before, before)).toEqual({});
    expect(toUpdate(before, { ...before, allMonitors: false })).toEqual({
      monitorIds: [MONITOR],
      allMonitors: false,
      selector: null,
    });
  });
});
