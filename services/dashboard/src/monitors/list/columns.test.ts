import { describe, expect, test } from '@jest/globals';
import { MONITOR_ORDERS } from '../monitors-search.ts';
import {
  type ColumnChoice,
  CHOICES,
  fitColumns,
  phoneColumns,
  readColumns,
  writeColumns,
} from './columns.ts';

const ALL = Object.keys(CHOICES) as ColumnChoice[];
const DEFAULT: ColumnChoice[] = ['labels', 'checks', 'latency', 'regions', 'checked'];

test.each([
  [{}, DEFAULT],
  [{ columns: '' }, []],
  [{ columns: 'p95,unknown,checks' }, ['checks', 'p95']],
  [{ order: 'latency' }, ['labels', 'checks', 'latency', 'p95', 'regions', 'checked']],
  [{ columns: 'checks', order: 'certificate' }, ['checks', 'certificate']],
  [{ columns: 'checks', order: 'name' }, ['checks']],
] as const)('the columns of %j are %j', (search, columns) => {
  expect(readColumns(search)).toEqual(columns);
});

test.each([[DEFAULT], [[]], [ALL], [['checked', 'checks']]] as ColumnChoice[][][])(
  'columns in an address are read as they were written: %j',
  (columns) => {
    const text = writeColumns(columns ?? []);
    expect(new Set(readColumns({ columns: text }))).toEqual(new Set(columns));
    expect(text === undefined).toBe(columns === DEFAULT);
  },
);

describe('fitColumns', () => {
  test.each([
    [964, ['checks', 'latency', 'regions', 'checked'], false],
    [963, ['checks', 'latency', 'regions', 'checked'], true],
    [883, ['checks', 'latency', 'checked'], true],
    [763, ['checks', 'latency'], true],
    [640, ['checks'], true],
    [300, [], true],
  ])('in %i px', (width, columns, isCompact) => {
    const fitting = fitColumns(DEFAULT, 'status', width);
    expect(fitting.columns.slice(0, 2)).toEqual(['status', 'name']);
    expect([fitting.columns.slice(2), fitting.isCompact]).toEqual([columns, isCompact]);
  });

  test.each(MONITOR_ORDERS)(
    'with the order %s never shows more than fits, except its own column',
    (order) => {
      for (let width = 2_000; width > 0; width -= 50) {
        const { columns } = fitColumns(readColumns({ columns: ALL.join(','), order }), order, width);
        const own = readColumns({ columns: '', order });
        for (const column of own) expect(columns).toContain(column);
        if (width < 384) expect(columns).toEqual(['status', 'name', ...own]);
      }
    },
  );
});

test.each([
  ['status', 'latency'],
  ['latency', 'p95'],
  ['certificate', 'certificate'],
] as const)('a phone with the order %s shows the figure %s', (order, figure) => {
  expect(phoneColumns(order).columns.at(-1)).toBe(figure);
});
