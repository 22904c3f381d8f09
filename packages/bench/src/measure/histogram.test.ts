import { describe, expect, test } from '@jest/globals';
import { histogramPercentile, parseHistogram, subtractHistogram } from './histogram.ts';

const TEXT = `# HELP lag_seconds How late.
lag_seconds_bucket{le="0.1",region="a"} 50
lag_seconds_bucket{le="0.2",region="a"} 90
lag_seconds_bucket{le="+Inf",region="a"} 100
lag_seconds_bucket{le="0.1",region="b"} 1
lag_seconds_bucket{le="0.2",region="b"} 2
lag_seconds_bucket{le="+Inf",region="b"} 3
lag_seconds_sum{region="a"} 9.5
other_lag_seconds_bucket{le="0.1"} 7
`;
const HISTOGRAM = [
  { atMost: 0.1, count: 51 },
  { atMost: 0.2, count: 92 },
  { atMost: Infinity, count: 103 },
];

test('parseHistogram sums the series of one metric over labels and processes', () => {
  expect(parseHistogram([TEXT], 'lag_seconds')).toEqual(HISTOGRAM);
  expect(parseHistogram([TEXT, TEXT], 'lag_seconds').at(-1)?.count).toBe(206);
});

test('subtractHistogram subtracts each bucket', () => {
  const twice = parseHistogram([TEXT, TEXT], 'lag_seconds');
  expect(twice.at(-1)).toEqual({ atMost: Infinity, count: 206 });
  expect(subtractHistogram(twice, HISTOGRAM)).toEqual(HISTOGRAM);
  expect(subtractHistogram(HISTOGRAM, [])).toEqual(HISTOGRAM);
});

describe('histogramPercentile', () => {
  const histogram = [
    { atMost: 0.1, count: 50 },
    { atMost: 0.2, count: 90 },
    { atMost: 0.4, count: 90 },
    { atMost: Infinity, count: 100 },
  ];

  test.each([
    [25, 0.05],
    [50, 0.1],
    [70, 0.15],
    [90, 0.2],
    [99, 0.4],
  ])('p%d is %d, interpolated within a bucket', (percent, expected) => {
    expect(histogramPercentile(histogram, percent)).toBeCloseTo(expected, 10);
  });

  test('is NaN for an empty histogram', () => {
    expect(histogramPercentile([], 50)).toBeNaN();
    expect(histogramPercentile([{ atMost: Infinity, count: 0 }], 50)).toBeNaN();
  });
});
