import { describe, expect, test } from '@jest/globals';
import type { Violation } from '../oracle/record.ts';

/** For each invariant, the violations that a change of a good record causes. In a violation, `…` stands for any text. */
export type ViolationTable<Change> = Readonly<Record<string, Readonly<Record<string, Change>>>>;

/** Tests that the oracle finds each violation. @param find returns the violations of a record with this change */
export function testViolations<Change>(
  table: ViolationTable<Change>,
  find: (change: Change) => readonly Violation[],
): void {
  describe.each(Object.entries(table))('%s', (invariant, rows) => {
    test.each(Object.entries(rows))('%s', (violation, change) => {
      const found = find(change).filter((one) => one.invariant === invariant);
      expect(found.map(({ detail }) => detail)).toContainEqual(expect.stringMatching(patternOf(violation)));
    });
  });
}

function patternOf(text: string): RegExp {
  const parts = text.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`);
}
