import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { isTooLate, mayOverlap } from './lateness.ts';
import { phaseMs } from './phase.ts';
import { firstCheckJobId, slotOfJob } from './slot.ts';
import { waveId, waveOf } from './wave.ts';

/** The same in each run. */
const IDS = Array.from({ length: 1_000 }, (_, index) => {
  const digits = createHash('sha256').update(String(index)).digest('hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-7${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
});

describe('phaseMs', () => {
  test.each([1, 5, 7, 60, 86_400])(
    'is fixed by the id, inside the interval and on the grid: %i s',
    (seconds) => {
      const intervalMs = seconds * 1_000;
      const odd = IDS.filter((id) => {
        const phase = phaseMs(id, intervalMs);
        const isOnGrid = phase >= 1 && phase < intervalMs && phase % 50 === 1;
        return !isOnGrid || phase !== phaseMs(id, intervalMs);
      });
      expect(odd).toEqual([]);
    },
  );

  test('spreads ids that differ in one digit evenly', () => {
    const buckets = Array.from({ length: 60 }, () => 0);
    for (let index = 0; index < 60_000; index += 1) {
      const id = `01932f5e-0000-7000-8000-${String(index).padStart(12, '0')}`;
      const bucket = Math.floor(phaseMs(id, 60_000) / 1_000);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    expect(Math.min(...buckets)).toBeGreaterThan(850);
    expect(Math.max(...buckets)).toBeLessThan(1_150);
  });

  test('of an interval says nothing about the phase of a part of it', () => {
    const together = IDS.filter((id) => phaseMs(id, 3_600_000) % 60_000 === phaseMs(id, 60_000));
    expect(together.length).toBeLessThan(20);
  });

  test('fills the waves of an interval evenly, and uses each', () => {
    const sizes = new Map<string, number>();
    for (let index = 0; index < 50_000; index += 1) {
      const id = `01932f5e-0000-7000-8000-${String(index).padStart(12, '0')}`;
      const wave = waveId(waveOf(id, 5));
      sizes.set(wave, (sizes.get(wave) ?? 0) + 1);
    }
    expect(sizes.size).toBe(100);
    expect(Math.min(...sizes.values())).toBeGreaterThan(400);
    expect(Math.max(...sizes.values())).toBeLessThan(600);
  });
});

describe('slotOfJob', () => {
  test('reads the ids of scheduled and of first checks', () => {
    const id = randomUUID();
    expect(slotOfJob(`repeat:${id}:1795177316000`)).toBe(1_795_177_316_000);
    expect(slotOfJob(firstCheckJobId(id, 1_795_177_316_123))).toBe(1_795_177_316_123);
    expect(firstCheckJobId(id, 1)).not.toContain(':');
  });

  test.each(['', 'repeat:x', '1795177316000', 'repeat:x:abc'])('null for %j', (id) => {
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
