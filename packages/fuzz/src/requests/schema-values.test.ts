import { expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import * as fc from 'fast-check';
import { z } from 'zod';
import { validValuesOf, valuesOf } from './schema-values.ts';

test.each([
  ['text', z.string().min(2).max(3), ['', 'a', 'ab', 'abc', 'abcd']],
  ['numbers', z.int().min(5).max(7), [4, 5, 6, 7, 8, 5.5]],
  ['words', z.enum(['a', 'b']), ['a', 'b']],
  ['null', z.boolean().nullable(), [null, true, false]],
] as const)('%s is inside, at and just outside of the bounds of its schema', (_, schema, wanted) => {
  const found = fc.sample(valuesOf(schema), { numRuns: 500, seed: 1 });
  const lengths = new Set(
    found.map((value) => (typeof value === 'string' && value.length > 1 ? value.length : value)),
  );
  for (const value of wanted) {
    expect(lengths).toContain(typeof value === 'string' && value.length > 1 ? value.length : value);
  }
});

test('the schema accepts every valid value, and refuses many of the others', () => {
  const accepted = (values: fc.Arbitrary<unknown>): number =>
    fc
      .sample(values, { numRuns: 200, seed: 1 })
      .filter((value) => createMonitorSchema.safeParse(value).success).length;
  expect(accepted(validValuesOf(createMonitorSchema))).toBe(200);
  expect(accepted(valuesOf(createMonitorSchema))).toBeLessThan(100);
});
