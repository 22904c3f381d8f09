import { type HeaderCondition, type JsonCondition, TESTS } from '@tocsin/contracts/monitors/assertions';

/** A test of a condition in the form. */
export type RowTest = (typeof TESTS)[number] | 'missing';
type Condition = HeaderCondition | JsonCondition;
type Tests = Readonly<Partial<Record<(typeof TESTS)[number], unknown>>>;

/** A condition about a header or JSON, with one test. @property key identifies the row while it is edited */
export interface ConditionRow {
  key: string;
  /** Name of the header, or JSON path. */
  subject: string;
  test: RowTest;
  value: string;
  /** Further tests, which only the API can add. */
  others: Tests;
}

export const TEST_LABELS: Readonly<Record<RowTest, string>> = {
  equals: 'equals',
  contains: 'contains',
  matches: 'matches',
  exists: 'exists',
  missing: 'does not exist',
  lessThan: 'is less than',
  greaterThan: 'is more than',
};

export function hasValue(test: RowTest): boolean {
  return test !== 'exists' && test !== 'missing';
}

export function toRows(conditions: readonly Condition[] | undefined): ConditionRow[] {
  return (conditions ?? []).map((condition, index) => {
    const [test = 'exists', ...others] = testsOf(condition);
    return {
      key: String(index),
      subject: subjectOf(condition),
      test: condition.exists === false ? 'missing' : test,
      value: test === 'exists' ? '' : toText(valueOf(condition, test), isJson(test, condition)),
      others: Object.fromEntries(others.map((other) => [other, valueOf(condition, other)])),
    };
  });
}

/** Returns conditions that are not validated yet, or undefined for none. */
export function toConditions(rows: readonly ConditionRow[], subject: 'name' | 'path'): object[] | undefined {
  if (rows.length === 0) return undefined;
  return rows.map((row) => ({ [subject]: row.subject.trim(), ...row.others, ...toTest(row, subject) }));
}

/** Describes a condition, such as `$.status equals "ok"`. */
export function conditionText(condition: Condition): string {
  const tests = testsOf(condition).map((test) => testText(test, valueOf(condition, test)));
  return `${subjectOf(condition)} ${tests.join(' and ')}`;
}

export function testText(test: keyof Tests, value: unknown): string {
  if (test === 'exists') return TEST_LABELS[value === false ? 'missing' : 'exists'];
  return `${TEST_LABELS[test]} ${test === 'matches' ? `/${String(value)}/` : JSON.stringify(value)}`;
}

function testsOf(condition: Condition): (typeof TESTS)[number][] {
  return TESTS.filter((test) => valueOf(condition, test) !== undefined);
}

function valueOf(condition: Condition, test: keyof Tests): unknown {
  return (condition as Tests)[test];
}

function subjectOf(condition: Condition): string {
  return 'name' in condition ? condition.name : condition.path;
}

function toTest({ test, value }: ConditionRow, subject: 'name' | 'path'): Tests {
  if (!hasValue(test)) return { exists: test === 'exists' };
  return { [test]: isJson(test, { [subject]: '' }) ? parseJson(value) : value };
}

function isJson(test: RowTest, condition: object): boolean {
  return test === 'lessThan' || test === 'greaterThan' || (test === 'equals' && 'path' in condition);
}

/** Text that is not JSON stands for itself, so that most strings need no quotes. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function toText(value: unknown, isJsonValue: boolean): string {
  return typeof value === 'string' && (!isJsonValue || parseJson(value) === value)
    ? value
    : JSON.stringify(value);
}
