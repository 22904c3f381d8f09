import { describe, expect, test } from '@jest/globals';
import { findTimeZones, formatOffset, timeZones } from './time-zones.ts';

const WINTER = Date.parse('2027-01-15T12:00:00Z');
const ZONES = timeZones('Europe/Berlin');

test('timeZones includes UTC and the given zones once, under their present names', () => {
  const zones = timeZones('Europe/Berlin', 'Etc/GMT+5');
  expect(zones.filter((zone) => zone === 'Europe/Berlin')).toHaveLength(1);
  expect(zones).toEqual(expect.arrayContaining(['UTC', 'Etc/GMT+5', 'Asia/Kolkata', 'Europe/Kyiv']));
  expect(zones).not.toContain('Asia/Calcutta');
  // A window keeps the name that it has.
  expect(timeZones('Asia/Calcutta')).toContain('Asia/Calcutta');
});

test('every zone of the list exists', () => {
  for (const timeZone of ZONES) expect(() => new Intl.DateTimeFormat('en', { timeZone })).not.toThrow();
});

describe('findTimeZones', () => {
  test.each([
    ['Kolkata', 'Asia/Kolkata'],
    ['calcutta', 'Asia/Kolkata'],
    ['Asia/Calcutta', 'Asia/Kolkata'],
    ['India', 'Asia/Kolkata'],
    ['mumbai', 'Asia/Kolkata'],
    ['Kiev', 'Europe/Kyiv'],
    ['new york', 'America/New_York'],
    ['New_York', 'America/New_York'],
    ['America/New_York', 'America/New_York'],
    ['san francisco', 'America/Los_Angeles'],
    ['pacific time', 'America/Los_Angeles'],
    ['uk', 'Europe/London'],
    [' berlin ', 'Europe/Berlin'],
    ['Saigon', 'Asia/Ho_Chi_Minh'],
    ['utc', 'UTC'],
    ['gmt', 'UTC'],
  ])('"%s" finds %s first', (search, zone) => {
    expect(findTimeZones(ZONES, search, WINTER)[0]).toBe(zone);
  });

  test.each([
    ['+5:30', ['Asia/Colombo', 'Asia/Kolkata']],
    ['UTC+05:30', ['Asia/Colombo', 'Asia/Kolkata']],
    ['+0530', ['Asia/Colombo', 'Asia/Kolkata']],
    ['+5:45', ['Asia/Kathmandu']],
    ['−3:30', ['America/St_Johns']],
    ['-3:30', ['America/St_Johns']],
    ['+20', []],
    ['nowhere', []],
  ])('"%s" finds %j', (search, zones) => {
    expect(findTimeZones(ZONES, search, WINTER)).toEqual(zones);
  });

  test('an offset without minutes finds every zone of that hour', () => {
    const found = findTimeZones(ZONES, '+5', WINTER);
    expect(found).toEqual(expect.arrayContaining(['Asia/Karachi', 'Asia/Kolkata', 'Asia/Kathmandu']));
    expect(found).not.toContain('Asia/Dhaka');
    expect(findTimeZones(ZONES, 'UTC-3', WINTER)).toContain('America/Sao_Paulo');
    expect(findTimeZones(ZONES, '+0', WINTER)).toContain('Europe/London');
  });

  test('an empty search finds all', () => {
    expect(findTimeZones(ZONES, '', WINTER)).toHaveLength(ZONES.length);
  });
});

test.each([
  ['UTC', 'UTC'],
  ['Europe/London', 'UTC'],
  ['Europe/Berlin', 'UTC+1'],
  ['Asia/Kolkata', 'UTC+5:30'],
  ['America/St_Johns', 'UTC−3:30'],
])('the offset of %s is %s', (zone, offset) => {
  expect(formatOffset(zone, WINTER)).toBe(offset);
});
