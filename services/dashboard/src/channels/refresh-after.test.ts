import { expect, test } from '@jest/globals';
import { refreshAfterMs } from './refresh-after.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const pending = (nextAttemptAt: string | null) => ({ state: 'pending' as const, nextAttemptAt });
const delivered = { state: 'delivered' as const, nextAttemptAt: null };

test('looks again soon while an attempt is near or under way', () => {
  for (const at of ['2026-03-01T12:00:30Z', '2026-03-01T11:59:00Z', null])
    expect(refreshAfterMs([[delivered, pending(at)]], NOW)).toBe(3_000);
});

test('takes its time where nothing is to be sent, or not for long', () => {
  expect(refreshAfterMs([], NOW)).toBe(15_000);
  expect(refreshAfterMs([[delivered]], NOW)).toBe(15_000);
  expect(refreshAfterMs([[pending('2026-03-01T20:00:00Z')]], NOW)).toBe(15_000);
});

test('loads many pages seldomer', () => {
  expect(refreshAfterMs([[delivered], [pending(null)], []], NOW)).toBe(9_000);
});
