import { describe, expect, test } from '@jest/globals';
import { localToIso, momentsAt, offsetMs, toLocal } from './zoned-time.ts';

const HOUR_MS = 3_600_000;
const at = (iso: string): number => Date.parse(iso);

describe('toLocal and localToIso', () => {
  test.each([
    ['2026-03-01T12:00:00.000Z', 'UTC', '2026-03-01T12:00'],
    ['2026-03-01T12:00:00.000Z', 'Europe/Berlin', '2026-03-01T13:00'],
    ['2026-07-01T12:00:00.000Z', 'Europe/Berlin', '2026-07-01T14:00'],
    ['2026-07-01T20:00:00.000Z', 'Asia/Kolkata', '2026-07-02T01:30'],
    ['2026-01-01T00:30:00.000Z', 'America/New_York', '2025-12-31T19:30'],
    ['2026-03-01T12:00:07.250Z', 'UTC', '2026-03-01T12:00:07.250'],
    ['2026-03-01T12:00:07.000Z', 'UTC', '2026-03-01T12:00:07'],
  ])('converts %s in %s to %s and back', (iso, zone, local) => {
    expect(toLocal(at(iso), zone)).toBe(local);
    expect(localToIso(local, zone)).toBe(iso);
  });

  test('offsetMs follows daylight saving time', () => {
    expect(offsetMs(at('2026-01-01T00:00:00Z'), 'Europe/Berlin')).toBe(HOUR_MS);
    expect(offsetMs(at('2026-07-01T00:00:00Z'), 'Europe/Berlin')).toBe(2 * HOUR_MS);
  });
});

describe('momentsAt around a clock change', () => {
  test('returns no moment when the clocks skip the time', () => {
    expect(momentsAt('2026-03-29T02:30', 'Europe/Berlin')).toEqual([]);
    expect(localToIso('2026-03-29T02:30', 'Europe/Berlin')).toBeNull();
    expect(localToIso('2026-03-29T03:00', 'Europe/Berlin')).toBe('2026-03-29T01:00:00.000Z');
  });

  test('returns both moments when the time occurs twice', () => {
    const moments = [at('2026-10-25T00:30:00Z'), at('2026-10-25T01:30:00Z')];
    expect(momentsAt('2026-10-25T02:30', 'Europe/Berlin')).toEqual(moments);
    expect(localToIso('2026-10-25T02:30', 'Europe/Berlin')).toBe('2026-10-25T00:30:00.000Z');
  });
});

test('momentsAt returns null for an invalid date and time', () => {
  for (const text of ['', '2026-03-01', '2026-02-30T12:00', '2026-03-01T24:30', 'soon'])
    expect(momentsAt(text, 'UTC')).toBeNull();
});
