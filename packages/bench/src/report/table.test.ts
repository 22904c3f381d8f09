import { describe, expect, test } from '@jest/globals';
import { formatNumber, tableOf } from './table.ts';

test.each([
  [12_345.6, '12,346'],
  [123.4, '123'],
  [12.34, '12.3'],
  [3, '3'],
  [1.234, '1.23'],
  [0.0123, '0.012'],
  [Number.NaN, '–'],
])('formatNumber(%d) is %s', (value, expected) => {
  expect(formatNumber(value)).toBe(expected);
});

describe('tableOf', () => {
  test('aligns columns and shows which bars are reached', () => {
    const table = tableOf([
      { key: 'a', label: 'checks', value: 995, unit: '/s', bar: { atLeast: 990 } },
      { key: 'b', label: 'schedule lag', value: 1_500, unit: 'ms', bar: { atMost: 1_000 } },
      { key: 'c', label: 'memory', value: 80, unit: 'MB' },
    ]);
    expect(table.split('\n')).toEqual([
      '  checks          995 /s  ≥ 990    reached',
      '  schedule lag  1,500 ms  ≤ 1,000  NOT REACHED',
      '  memory           80 MB',
    ]);
  });

  test('shows that a value that was not measured reaches no bar', () => {
    const figure = { key: 'a', label: 'lag', value: Number.NaN, unit: 'ms', bar: { atMost: 1 } } as const;
    expect(tableOf([figure])).toContain('NOT REACHED');
  });
});
