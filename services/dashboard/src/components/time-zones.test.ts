import { expect, test } from '@jest/globals';
import { findTimeZones, timeZones } from './time-zones.ts';
import { localToIso, momentsAt, toLocal } from './zoned-time.ts';

const WINTER = Date.parse('2027-01-15T12:00:00Z');
const ZONES = timeZones('Europe/Berlin');

test('timeZones includes UTC and the given zones once, under their current names', () => {
  const zones = timeZones('Europe/Berlin', 'Etc/GMT+5');
  expect(zones.filter((zone) => zone === 'Europe/Berlin')).toHaveLength(1);
  expect(zones).toEqual(expect.arrayContaining(['UTC', 'Etc/GMT+5', 'Asia/Kolkata', 'Europe/Kyiv']));
  expect(zones).not.toContain('Asia/Calcutta');
  // A window keeps the name that it has.
  expect(timeZones('Asia/Calcutta')).toContain('Asia/Calcutta');
});

test.each([
  ['mumbai', 'Asia/Kolkata'],
  ['new york', 'America/New_York'],
  [' berlin ', 'Europe/Berlin'],
  ['gmt', 'UTC'],
])('the search "%s" finds %s first', (search, zone) => {
  expect(findTimeZones(ZONES, search, WINTER)[0]).toBe(zone);
});

test.each([
  ['+5:30', ['Asia/Colombo', 'Asia/Kolkata']],
  ['−3:30', ['America/St_Johns']],
])('the search "%s" finds %j', (search, zones) => {
  expect(findTimeZones(ZONES, search, WINTER)).toEqual(zones);
});

test('an offset without minutes finds every zone of that hour', () => {
  const found = findTimeZones(ZONES, 'UTC+5', WINTER);
  expect(found).toEqual(expect.arrayContaining(['Asia/Karachi', 'Asia/Kolkata', 'Asia/Kathmandu']));
  expect(found).not.toContain('Asia/Dhaka');
});

const at = (iso: string): number => Date.parse(iso);

test.each([
  ['2026-07-01T12:00:00.000Z', 'Europe/Berlin', '2026-07-01T14:00'],
  ['2026-01-01T00:30:00.000Z', 'America/New_York', '2025-12-31T19:30'],
  ['2026-03-01T12:00:07.250Z', 'UTC', '2026-03-01T12:00:07.250'],
])('converts %s in %s to %s and back', (iso, zone, local) => {
  expect(toLocal(at(iso), zone)).toBe(local);
  expect(localToIso(local, zone)).toBe(iso);
});

test('momentsAt returns no moment when the clocks skip the time, and both when it occurs twice', () => {
  expect(momentsAt('2026-03-29T02:30', 'Europe/Berlin')).toEqual([]);
  expect(localToIso('2026-03-29T02:30', 'Europe/Berlin')).toBeNull();
  const moments = [at('2026-10-25T00:30:00Z'), at('2026-10-25T01:30:00Z')];
  expect(momentsAt('2026-10-25T02:30', 'Europe/Berlin')).toEqual(moments);
  expect(localToIso('2026-10-25T02:30', 'Europe/Berlin')).toBe('2026-10-25T00:30:00.000Z');
});

test('momentsAt returns null for an invalid date and time', () => {
  for (const text of ['', '2026-03-01', '2026-02-30T12:00', '2026-03-01T24:30', 'soon'])
    expect(momentsAt(text, 'UTC')).toBeNull();
});
