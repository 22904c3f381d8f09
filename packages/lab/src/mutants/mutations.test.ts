import { expect, test } from '@jest/globals';
import { mutationsOf } from './mutations.ts';

/** The sources that one mutation makes. */
function mutants(source: string): string[] {
  return mutationsOf(source).map(
    ({ start, end, replacement }) => source.slice(0, start) + replacement + source.slice(end),
  );
}

test.each([
  ['a < b', ['a <= b']],
  ['a && b', ['a || b']],
  ['!a', ['a']],
  ['f(true, 2)', ['f(false, 2)', 'f(true, 3)']],
  ['list.some(f)', ['list.every(f)']],
  [
    'sql`select x from y where a = ${b} and c is null`',
    [
      'sql`select x from y where a <> ${b} and c is null`',
      'sql`select x from y where a = ${b} or c is null`',
      'sql`select x from y where a = ${b} and c is not null`',
    ],
  ],
  ["'a' + b", []],
])('%s', (code, expected) => {
  expect(mutants(`const x = ${code};`)).toEqual(expected.map((mutant) => `const x = ${mutant};`));
});

test('conditions and statements are mutated, but types, imports and log lines are not', () => {
  expect(mutants('if (a) b();')).toEqual(['if (true) b();', 'if (false) b();', 'if (a) ;']);
  expect(mutants("import a from 'a'; type B = 1 | 2; logger.warn('1');")).toEqual([]);
});
