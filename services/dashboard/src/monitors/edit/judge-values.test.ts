import { describe, expect, test } from '@jest/globals';
import { toValues, type HeaderRow, type MonitorFormValues } from './form-values.ts';
import { atControl, findProblems, judgeWith } from './judge-values.ts';

const RIGHT: MonitorFormValues = { ...toValues(null), name: 'Shop', url: 'https://shop.example' };

function rowsOf(...headers: [name: string, value: string][]): HeaderRow[] {
  return headers.map(([name, value], index) => ({ key: String(index), name, value }));
}

function pathsOf(change: Partial<MonitorFormValues>): string[] {
  return findProblems({ ...RIGHT, ...change }, null).map(({ path }) => path);
}

function withAssertions(change: Partial<MonitorFormValues['assertions']>): Partial<MonitorFormValues> {
  return { assertions: { ...RIGHT.assertions, ...change } };
}

describe('findProblems', () => {
  test('none, where all is right', () => {
    expect(findProblems(RIGHT, null)).toEqual([]);
    expect(judgeWith(null).safeParse(RIGHT).success).toBe(true);
  });

  test.each<[string, Partial<MonitorFormValues>, string[]]>([
    ['a blank name', { name: ' ' }, ['name']],
    ['no URL', { url: '' }, ['url']],
    ['an interval that is too short', { interval: 4 }, ['interval']],
    ['no interval', { interval: '' }, ['interval']],
    ['a timeout that is not a number', { timeout: '-' }, ['timeout']],
    ['a status code that is none', withAssertions({ statusCode: 99 }), ['assertions.statusCode']],
    ['a body that is too long', { method: 'POST', body: 'a'.repeat(65_537) }, ['body']],
    ['a region that is no code', { regions: ['eu', 'US'] }, ['regions']],
    ['a runbook that is no URL', { runbookUrl: 'wiki' }, ['runbookUrl']],
    ['a name of a header that is none', { headers: rowsOf(['A', '1'], ['b c', '1']) }, ['headers.1.name']],
    ['a header without a name', { headers: rowsOf(['', 'secret']) }, ['headers.0.name']],
    ['a header of the connection', { headers: rowsOf(['Upgrade', 'x']) }, ['headers.0.name']],
    ['a value that no header may have', { headers: rowsOf(['A', '€']) }, ['headers.0.value']],
    ['rows that count after an empty one', { headers: rowsOf(['', ''], ['A.B', '€']) }, ['headers.1.value']],
    ['a header given twice', { headers: rowsOf(['A', '1'], ['A', '2']) }, ['headers.1.name']],
    ['a header given twice in another case', { headers: rowsOf(['a', '1'], ['A', '2']) }, ['headers.1.name']],
    ['two things', { name: '', timeout: 61 }, ['name', 'timeout']],
  ])('%s', (_, change, paths) => {
    expect(pathsOf(change)).toEqual(paths);
    expect(judgeWith(null).safeParse({ ...RIGHT, ...change }).success).toBe(false);
  });

  test('HEAD has no body to look into; said together with what else is wrong', () => {
    const inBody = withAssertions({ bodyContains: 'ok', bodyNotContains: 'error' });
    expect(pathsOf({ ...inBody, method: 'GET' })).toEqual([]);
    expect(pathsOf({ ...inBody, method: 'HEAD', name: '' })).toEqual([
      'name',
      'assertions.bodyContains',
      'assertions.bodyNotContains',
    ]);
  });

  test('which of the regions is wrong is said', () => {
    const [problem] = findProblems({ ...RIGHT, regions: ['eu', 'US'] }, null);
    expect(problem?.message).toMatch(/^US: must be a region code/);
  });
});

describe('atControl: what the server says', () => {
  const values = { ...RIGHT, headers: rowsOf(['', ''], ['X-Key', 'a']), regions: ['eu'] };
  test.each([
    ['url', 'url', 'no'],
    ['assertions.maxLatency', 'assertions.maxLatency', 'no'],
    ['headers', 'headers', 'no'],
    ['headers.X-Key', 'headers.1.name', 'no'],
    ['headers.X-Gone', 'headers', 'X-Gone: no'],
    ['regions', 'regions', 'no'],
    ['regions.0', 'regions', 'eu: no'],
    ['regions.7', 'regions', 'no'],
  ])('%s stands at %s', (path, control, message) => {
    expect(atControl({ path, message: 'no' }, values)).toEqual({ path: control, message });
  });
});
