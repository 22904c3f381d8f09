import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Budget, BudgetExceededError } from './budget.ts';
import { jsonPathProblem, selectJson } from './json-path.ts';

interface ComplianceTest {
  readonly name: string;
  readonly selector: string;
  readonly document?: unknown;
  readonly result?: unknown[];
  readonly results?: unknown[][];
  readonly invalid_selector?: boolean;
}

/** From github.com/jsonpath-standard/jsonpath-compliance-test-suite (BSD-2-Clause), commit 7be7c1f. */
const SUITE = new URL('testing/jsonpath-compliance.json', import.meta.url);
const { tests } = JSON.parse(readFileSync(SUITE, 'utf8')) as { tests: ComplianceTest[] };

describe('the compliance tests of RFC 9535', () => {
  const isInvalid = ({ invalid_selector }: ComplianceTest): boolean => invalid_selector === true;

  test.each(tests.filter(isInvalid))('refuse $selector: $name', ({ selector }) => {
    expect(jsonPathProblem(selector)).toEqual(expect.any(String));
  });

  test.each(tests.filter((one) => !isInvalid(one)))('accept $selector: $name', (one) => {
    const { selector, document, result, results = [result] } = one;
    expect(jsonPathProblem(selector)).toBeNull();
    expect(results).toContainEqual(selectJson(selector, document, new Budget()));
  });
});

test.each([
  ['$.a[', 'unclosed bracketed selection at character 5'],
  ['status', "expected '$', found 's' at character 1"],
  ['$.a b', "expected '.', '..' or a bracketed selection, found 'b' at character 5"],
  ['$[?foo(@)]', "no such function 'foo' at character 4"],
])('the error of %s says where it is', (path, problem) => {
  expect(jsonPathProblem(path)).toBe(problem);
});

test.each([
  ['$[?length(@) == 2]', ['ab', '🔔🔔', 'a'], ['ab', '🔔🔔']],
  ["$[?match(@, '[ab]+.')]", ['aab!', 'ab\r', 'xab!'], ['aab!']],
  ["$[?search(@, '(')]", ['('], []],
  ["$[?search('a', @)]", ['(?i)A', 'a'], ['a']],
  ['$.__proto__', JSON.parse('{"__proto__":1}'), [1]],
  ['$.constructor', {}, []],
])('%s in %j', (path, document, expected) => {
  expect(selectJson(path, document, new Budget())).toEqual(expected);
});

test('a long expression in a document is refused before it is read', () => {
  const select = () => selectJson("$[?search('a', @)]", ['['.repeat(3_000)], new Budget());
  expect(select).toThrow(BudgetExceededError);
});

const MIB = 1024 * 1024;
const NUMBERS = `[${'1,'.repeat(MIB / 2 - 2)}1]`;
const BODIES = Object.values({
  numbers: NUMBERS,
  deep: '['.repeat(MIB / 2) + ']'.repeat(MIB / 2),
  arrays: `[${'[],'.repeat(MIB / 3 - 2)}[]]`,
  members: JSON.stringify(
    Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`key${index}`, index])),
  ),
  patterns: JSON.stringify(Array.from({ length: 50_000 }, (_, index) => `(a{${index % 900}}|b)${index}`)),
  text: JSON.stringify(['a'.repeat(MIB / 2), 'a'.repeat(MIB / 2)]),
}).map((body): unknown => JSON.parse(body));

test.each([
  '$..*',
  '$..*..*..*',
  '$..[?@ == $]',
  '$..[?count($..*) > 1]',
  '$[?length($) > 1]',
  '$[?@ == $[0]]',
  '$[?@ < $[1]]',
  "$[?match('aaa', @)]",
  "$[?search(@, 'a*a*a*c')]",
  `$[${'0,'.repeat(400)}0]`,
  `$[${'::-1,'.repeat(150)}::-1]`,
])('%s on a hostile body ends', (path) => {
  for (const body of BODIES) {
    try {
      expect(selectJson(path, body, new Budget())).toBeInstanceOf(Array);
    } catch (error) {
      expect(error).toBeInstanceOf(BudgetExceededError);
    }
  }
});
