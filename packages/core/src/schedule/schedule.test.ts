import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { isTooLate, mayOverlap } from './lateness.ts';
import { phaseMs } from './phase.ts';
import { firstCheckJobId, slotOfJob } from './slot.ts';

describe('phaseMs', () => {
  test('is fixed by the id and lies inside the interval', () => {
    for (let index = 0; index < 1_000; index += 1) {
      const id = randomUUID();
      const phase = phaseMs(id, 5_000);
      expect(phase).toBe(phaseMs(id, 5_000));
      expect(phase).toBeGreaterThanOrEqual(1);
      expect(phase).toBeLessThan(5_000);
    }
  });

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
