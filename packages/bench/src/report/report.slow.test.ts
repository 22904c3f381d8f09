import { expect, test } from '@jest/globals';
import { tableOf } from './table.ts';

test('tableOf aligns columns and shows which bars are reached', () => {
  const table = tableOf([
    { key: 'a', label: 'checks', value: 995, unit: '/s', bar: { atLeast: 990 } },
    { key: 'b', label: 'schedule lag', value: 1_500, unit: 'ms', bar: { atMost: 1_000 } },
    { key: 'c', label: 'memory', value: 80, unit: 'MB' },
    // A value that was not measured reaches no bar.
    { key: 'd', label: 'cost', value: Number.NaN, unit: 'ms', bar: { atMost: 1 } },
  ]);
  expect(table.split('\n')).toEqual([
    '  checks          995 /s  ≥ 990    reached',
    '  schedule lag  1,500 ms  ≤ 1,000  NOT REACHED',
    '  memory           80 MB',
    '  cost              – ms  ≤ 1      NOT REACHED',
  ]);
});
