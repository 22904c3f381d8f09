import { describe, expect, test } from '@jest/globals';
import { RE2JS } from 're2js';
import { fc } from '../testing/fast-check.ts';
import { Budget, BudgetExceededError } from './budget.ts';
import { expressionProblem, matchesExpression } from './regular-expression.ts';

test.each([
  ['(', 'missing closing ): (', null],
  ['a**', 'invalid nested repetition operator: **', null],
  ['(?=a)', 'invalid or unsupported Perl syntax: (?=', null],
  ['\\1', 'invalid escape sequence: \\1', null],
  ['(a{1000}){2}', 'invalid repeat count: {2}', null],
  ['(abc){999}', null, 'repeats too much: 2997 characters written out, at most 2000'],
  ['(?i)[a-\u{10ffff}]'.repeat(2), null, 'ignores case in ranges that are too wide'],
  ['(?i:[[:word:]b-\\x{10fff0}b-\\x{10fff1}])', null, 'ignores case in ranges that are too wide'],
  ['(?i)[а-я]+ [一-鿿]+ [^\\x{10000}-\\x{10ffff}]', null, null],
  ['[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}', null, null],
  ['\\p{Lu}\\d{3,}(?i:ok)$', null, null],
])('%s is %s', (pattern, syntax, size) => {
  const problem = expressionProblem(pattern);
  if (syntax !== null) expect(problem).toContain(syntax.split(':')[0]);
  else expect(problem).toBe(size);
});

describe('a search', () => {
  test.each([
    ['ok', 'all ok', true],
    ['^ok$', 'all ok', false],
    ['(?i)OK', 'all ok', true],
    ['^b$', 'a\nb', false],
    ['(?m)^b$', 'a\nb', true],
    ['a.c', 'a\nc', false],
    ['^.$', '🔔', true],
    ['\\bok\\b', 'not ok.', true],
  ])('for %s in %j: %p', (pattern, text, found) => {
    expect(matchesExpression(pattern, text, new Budget())).toBe(found);
  });

  test('has the same result as the engine without limits', () => {
    const pattern = fc.stringMatching(/^(?:[ab.]|\(a\|b\)|\[ab\]|\\b|[ab][*+?]|[ab]\{1,3\}){1,8}$/);
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '\n', 'é'), maxLength: 40 });
    fc.assert(
      fc.property(pattern, text, (source, body) => {
        expect(matchesExpression(source, body, new Budget())).toBe(RE2JS.compile(source).test(body));
      }),
    );
  });
});

const MIB = 1024 * 1024;
let state = 7;
const random = (): number => (state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff) >>> 12;
const drawn = (draw: (value: number) => string): string =>
  `c! ${Array.from({ length: MIB - 3 }, () => draw(random())).join('')}`;
const BODIES = [
  `c! ${'a'.repeat(MIB - 3)}`,
  drawn((value) => (value & 1 ? 'a' : 'b')),
  drawn((value) => (value % 5 ? 'a' : ' ')),
  drawn((value) => String.fromCharCode(32 + (value % 12_000))),
];

test.each([
  ['(a*)*c$', false],
  ['[ab]*a[ab]{200}c', true],
  ['(a{0,1000})c$', true],
  ['((a{0,100}){10})c$', true],
  ['a.{1,100}b.{1,100}c', true],
  ['\\b.{0,200}\\b.{0,200}\\bc$', true],
  ['(\\pL{1,50}\\b.){10}c$', true],
  [`${'a'.repeat(450)}b${'a'.repeat(449)}`, true],
])('%s on a hostile body ends', (pattern, isCostly) => {
  const results = BODIES.map((body) => {
    try {
      return matchesExpression(pattern, body, new Budget());
    } catch (error) {
      if (!(error instanceof BudgetExceededError)) throw error;
      return 'too costly';
    }
  });
  expect(results.includes('too costly')).toBe(isCostly);
  expect(results).not.toContain(true);
});
