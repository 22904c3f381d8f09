import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { fc } from '../testing/fast-check.ts';
import {
  extraCheckJobId,
  isPlannedSlot,
  gapBefore,
  isRetry,
  isTooLate,
  mayOverlap,
  nextSlot,
  parseWaveId,
  slotOffsetMs,
  retrySlot,
  slotOfJob,
  waveId,
  waveOf,
} from './slots.ts';

/** Fixed ids, so that every run tests the same ones. */
const IDS = Array.from({ length: 1_000 }, (_, index) => {
  const digits = createHash('sha256').update(String(index)).digest('hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-7${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
});

describe('slotOffsetMs', () => {
  test.each([1, 5, 7, 60, 86_400])(
    'depends only on the id, and is on the grid within the interval: %i s',
    (seconds) => {
      const intervalMs = seconds * 1_000;
      const odd = IDS.filter((id) => {
        const offset = slotOffsetMs(id, intervalMs);
        const isOnGrid = offset >= 1 && offset < intervalMs && offset % 50 === 1;
        return !isOnGrid || offset !== slotOffsetMs(id, intervalMs);
      });
      expect(odd).toEqual([]);
    },
  );

  /** Counts how many similar ids fall into each group, in no particular order. */
  function sizesOf(count: number, groupOf: (id: string) => unknown): number[] {
    const sizes = new Map<unknown, number>();
    for (let index = 0; index < count; index += 1) {
      const group = groupOf(`01932f5e-0000-7000-8000-${String(index).padStart(12, '0')}`);
      sizes.set(group, (sizes.get(group) ?? 0) + 1);
    }
    return [...sizes.values()];
  }

  test.each<[string, number, (id: string) => unknown]>([
    ['seconds of a minute', 60, (id) => Math.floor(slotOffsetMs(id, 60_000) / 1_000)],
    ['waves of an interval', 100, (id) => waveId(waveOf(id, 5))],
  ])('spreads ids evenly over the %s', (_, groups, groupOf) => {
    const sizes = sizesOf(groups * 100, groupOf);
    expect(sizes).toHaveLength(groups);
    expect(Math.min(...sizes)).toBeGreaterThan(60);
    expect(Math.max(...sizes)).toBeLessThan(140);
  });

  test('of an interval does not determine the offset of a shorter one', () => {
    const together = IDS.filter((id) => slotOffsetMs(id, 3_600_000) % 60_000 === slotOffsetMs(id, 60_000));
    expect(together.length).toBeLessThan(20);
  });
});

describe('slotOfJob', () => {
  test('parses the ids of scheduled checks', () => {
    const jobId = `repeat:${randomUUID()}:1795177316000`;
    expect(slotOfJob(jobId)).toBe(1_795_177_316_000);
    expect([isPlannedSlot(jobId), isRetry(jobId)]).toEqual([true, false]);
  });

  test.each(['first', 'retry', 'recheck'] as const)('parses the id of an extra check: %s', (reason) => {
    const jobId = extraCheckJobId(reason, randomUUID(), 1_795_177_316_123);
    expect(slotOfJob(jobId)).toBe(1_795_177_316_123);
    expect([isPlannedSlot(jobId), isRetry(jobId)]).toEqual([false, reason === 'retry']);
    expect(jobId).not.toContain(':');
  });

  test.each(['', 'repeat:x', '1795177316000', 'repeat:x:abc'])('is null for %j', (id) => {
    expect(slotOfJob(id)).toBeNull();
  });
});

test('a check is too late after one interval and 15 s', () => {
  expect(isTooLate(0, 60, 75_000)).toBe(false);
  expect(isTooLate(0, 60, 75_001)).toBe(true);
});

test('checks may overlap from half the interval on', () => {
  expect(mayOverlap(60, 29)).toBe(false);
  expect(mayOverlap(60, 30)).toBe(true);
  expect(mayOverlap(5, 60)).toBe(true);
});

const ID = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
const DAY = 1_800_000_000_000 - (1_800_000_000_000 % 3_600_000);
const at = (index: number, intervalSeconds = 60): number =>
  DAY + index * intervalSeconds * 1_000 + slotOffsetMs(ID, intervalSeconds * 1_000);

const PLAN = { monitorId: ID, intervalSeconds: 60, retryIntervalSeconds: null };
const RETRIED = { ...PLAN, retryIntervalSeconds: 10 };

test.each<[string, number[], number, ReturnType<typeof gapBefore>]>([
  ['the next slot', [at(1), at(2)], at(3), null],
  ['one missed', [at(1), at(2)], at(4), { after: at(2), slots: 1 }],
  ['a day missed', [at(0)], at(1_440), { after: at(0), slots: 1_439 }],
  ['slots recorded out of order', [at(4), at(2)], at(5), null],
  ['a late result of an older slot', [at(1), at(5)], at(3), null],
  ['the same slot', [at(1)], at(1), null],
  ['nothing recorded yet', [], at(9), null],
  ['a first check before', [at(1), at(2) + 7], at(9), null],
  ['a first check itself', [at(1)], at(9) + 7, null],
  ['the newest slot is of another interval', [at(1), at(1, 3_600)], at(70), null],
  ['older slots are of another interval', [at(0, 3_600), at(61)], at(64), { after: at(61), slots: 2 }],
])('the gap before a slot: %s', (_, recent, slot, expected) => {
  expect(gapBefore(PLAN, recent, slot)).toEqual(expected);
  expect(gapBefore(RETRIED, recent, slot)).toEqual(expected);
});

test.each<[string, number[], number, ReturnType<typeof gapBefore>]>([
  ['retries since the last slot', [at(1), at(1) + 10_000, at(1) + 20_000], at(2), null],
  ['a slot missed after retries', [at(1), at(1) + 10_000], at(3), { after: at(1), slots: 1 }],
  ['a retry itself', [at(1)], at(3) + 10_000, null],
  ['a first check after a retry', [at(1), at(1) + 10_000, at(2) + 7], at(9), null],
])('the gap before a slot with retries: %s', (_, recent, slot, expected) => {
  expect(gapBefore(RETRIED, recent, slot)).toEqual(expected);
});

test.each<[string, startedAfterMs: number, recordedAfterMs: number, expected: number | null]>([
  ['a planned check', 5, 80, 10_000],
  ['a check that started late', 9_000, 9_100, 10_000],
  ['a check that took as long as the retry interval', 5, 10_040, 10_000],
  ['a check that took longer', 5, 25_000, 20_000],
  ['a retry', 10_004, 10_050, 20_000],
  ['a triggered check', 13_000, 13_100, 20_000],
  ['the last retry before the next slot', 40_001, 40_100, 50_000],
  ['the next slot is as early', 50_001, 50_100, null],
  ['recorded after the next slot', 30_001, 60_000, null],
])('the retry after %s', (_, startedAfterMs, recordedAfterMs, expected) => {
  const slot = retrySlot(RETRIED, at(1) + startedAfterMs, at(1) + recordedAfterMs);
  expect(slot).toBe(expected === null ? null : at(1) + expected);
});

test.each([null, 60, 3_600])('no retry every %p s at an interval of 60 s', (retryIntervalSeconds) => {
  expect(retrySlot({ ...RETRIED, retryIntervalSeconds }, at(1), at(1) + 100)).toBeNull();
});

test('a retry comes within its interval, before the next slot, and leaves every gap as it is', () => {
  const plans = fc.record({
    monitorId: fc.constantFrom(...IDS),
    intervalSeconds: fc.integer({ min: 5, max: 86_400 }),
    retryIntervalSeconds: fc.integer({ min: 5, max: 3_600 }),
  });
  const moments = fc.record({ start: fc.integer({ min: DAY, max: 2 * DAY }), took: fc.nat(90_000) });
  fc.assert(
    fc.property(plans, moments, fc.nat(3), (plan, { start, took }, missed) => {
      const next = nextSlot(plan.monitorId, plan.intervalSeconds, start);
      expect(next).toBeGreaterThan(start);
      expect(next % (plan.intervalSeconds * 1_000)).toBe(
        slotOffsetMs(plan.monitorId, plan.intervalSeconds * 1_000),
      );
      const retryMs = plan.retryIntervalSeconds * 1_000;
      const slot = retrySlot(plan, start, start + took);
      const last = next - plan.intervalSeconds * 1_000;
      if (slot === null) {
        expect(next - Math.max(last, start + took)).toBeLessThanOrEqual(retryMs);
        return;
      }
      expect(slot).toBeGreaterThan(start);
      expect(Math.max(slot, start + took)).toBeLessThan(next);
      expect(slot - Math.max(start, start + took)).toBeLessThanOrEqual(retryMs);
      const planned = next + missed * plan.intervalSeconds * 1_000;
      expect(gapBefore(plan, [last, slot], planned)).toEqual(gapBefore(plan, [last], planned));
    }),
  );
});

const someWave = fc
  .integer({ min: 1, max: 86_400 })
  .chain((intervalSeconds) =>
    fc
      .integer({ min: 1, max: intervalSeconds * 1_000 - 1 })
      .map((offsetMs) => ({ intervalSeconds, offsetMs })),
  );

describe('a wave id', () => {
  test('identifies the wave, and its jobs identify their slots', () => {
    fc.assert(
      fc.property(someWave, fc.nat(4_000_000_000_000), (wave, slot) => {
        const id = waveId(wave);
        expect(parseWaveId(id)).toEqual(wave);
        expect(id).not.toContain(':');
        expect(slotOfJob(`repeat:${id}:${slot}`)).toBe(slot);
      }),
    );
  });

  test('exists for every monitor', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: 5, max: 86_400 }), (monitorId, intervalSeconds) => {
        const wave = waveOf(monitorId, intervalSeconds);
        expect(wave.intervalSeconds).toBe(intervalSeconds);
        expect(parseWaveId(waveId(wave))).toEqual(wave);
      }),
    );
  });

  test('is the only text that is parsed as a wave', () => {
    const near = fc.stringMatching(/^.?wave-[0-9.+e -]{0,9}-[0-9.+e -]{0,10}.?$/);
    fc.assert(
      fc.property(fc.oneof(fc.string(), near), (id) => {
        const wave = parseWaveId(id);
        if (wave !== null) expect(waveId(wave)).toBe(id);
      }),
    );
  });

  test.each([
    'wave-60-',
    'wave-0-1',
    'wave-60-0',
    'wave-60-60000',
    'wave-060-1',
    'wave-60-01',
    'wave-60-1\n',
    'wave-60-1:2',
    'wave-٦٠-1',
    'wave-99999999999999999999-1',
  ])('%j is not parsed', (id) => {
    expect(parseWaveId(id)).toBeNull();
  });
});
