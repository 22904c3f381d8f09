import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { slotOffsetMs } from '@tocsin/core/schedule/slots';
import { countSlots } from './slots.ts';

test('countSlots counts planned times from the start of a span to before its end', () => {
  const id = randomUUID();
  const slot = 1_795_000_000_000 + slotOffsetMs(id, 5_000);
  expect(countSlots([id], 5_000, { from: slot, to: slot + 5_000 })).toBe(1);
  expect(countSlots([id], 5_000, { from: slot, to: slot + 5_001 })).toBe(2);
  expect(countSlots([id], 5_000, { from: slot + 1, to: slot + 5_000 })).toBe(0);
  expect(countSlots([id, id], 5_000, { from: slot - 1, to: slot + 60_000 })).toBe(24);
});
