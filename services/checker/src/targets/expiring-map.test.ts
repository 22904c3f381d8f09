import { expect, test } from '@jest/globals';
import { ExpiringMap, keepForInterval } from './expiring-map.ts';

test('a value expires when it is not read during its time', () => {
  let now = 0;
  const map = new ExpiringMap<string, number>(() => now);
  map.set('short', 1, 10_000);
  map.set('long', 2, 1_000_000);
  map.set('read', 3, 100_000);
  now = 90_000;
  expect(map.get('read')).toBe(3);
  map.set('new', 4, 10_000);
  expect(map.size).toBe(3);
  expect(map.get('short')).toBeUndefined();
  now = 180_000;
  map.set('newer', 5, 10_000);
  expect(['long', 'read', 'new'].map((key) => map.get(key))).toEqual([2, 3, undefined]);
});

test('the data of a check is kept until the next one, but not for hours', () => {
  expect(keepForInterval(5)).toBe(70_000);
  expect(keepForInterval(86_400)).toBe(660_000);
});
