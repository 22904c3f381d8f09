import * as fc from 'fast-check';
import { hostileText } from './text.ts';

/** JSON values of every type, of no schema. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 2, arbitrary: hostileText },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      null,
      true,
      false,
      0,
      -1,
      1,
      5,
      60,
      1.5,
      2 ** 31,
      2 ** 53,
      -(2 ** 53),
      1e308,
      5e-324,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      [],
      {},
      [[]],
      [null],
      { a: 1 },
      { toString: 1 },
      { constructor: { prototype: {} } },
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }) },
);

/** An object that has a key twice. */
export const TWICE = '{"a":1,"a":2}';

/** Texts of JSON that no value of ours is written as. */
export const oddJson: fc.Arbitrary<string> = fc.constantFrom(
  '1e309',
  '-1e309',
  '-0',
  '-0.0',
  '60.0',
  '6e1',
  '9007199254740993',
  '1'.repeat(400),
  '"\\ud800"',
  '"\\u0000"',
  '"\\uDC00\\uD800"',
  '{"__proto__":{"polluted":true}}',
  TWICE,
  '{"constructor":{"prototype":{"polluted":true}}}',
  `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
);
