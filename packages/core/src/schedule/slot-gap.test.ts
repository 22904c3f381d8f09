import { expect, test } from '@jest/globals';
import { phaseMs } from './phase.ts';
import { gapBefore } from './slot-gap.ts';

const ID = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
const DAY = 1_800_000_000_000 - (1_800_000_000_000 % 3_600_000);
/** The nth slot of an interval. */
const at = (index: number, intervalSeconds = 60): number =>
  DAY + index * intervalSeconds * 1_000 + phaseMs(ID, intervalSeconds * 1_000);

test.each<[string, number[], number, ReturnType<typeof gapBefore>]>([
  ['the next slot', [at(1), at(2)], at(3), null],
  ['one left out', [at(1), at(2)], at(4), { after: at(2), slots: 1 }],
  ['a day left out', [at(0)], at(1_440), { after: at(0), slots: 1_439 }],
  ['slots recorded out of order', [at(4), at(2)], at(5), null],
  ['a late result of an older slot', [at(1), at(5)], at(3), null],
  ['the same slot', [at(1)], at(1), null],
  ['nothing recorded yet', [], at(9), null],
  ['a first check before', [at(1), at(2) + 7], at(9), null],
  ['a first check itself', [at(1)], at(9) + 7, null],
  ['the newest slot is of another interval', [at(1), at(1, 3_600)], at(70), null],
  ['older slots are of another interval', [at(0, 3_600), at(61)], at(64), { after: at(61), slots: 2 }],
])('%s', (_, recent, slot, expected) => {
  expect(gapBefore(ID, 60, recent, slot)).toEqual(expected);
});
