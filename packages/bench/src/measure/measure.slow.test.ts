import { expect, test } from '@jest/globals';
import { histogramPercentile, parseHistogram, subtractHistogram } from './histogram.ts';
import { distributionOf } from './percentiles.ts';
import { webhookFigures, type Arrival } from './webhook-lag.ts';

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

test('a histogram is the sum of the series of one metric over labels and processes', () => {
  expect(parseHistogram([TEXT], 'lag_seconds')).toEqual(HISTOGRAM);
  const twice = parseHistogram([TEXT, TEXT], 'lag_seconds');
  expect(twice.at(-1)).toEqual({ atMost: Infinity, count: 206 });
  expect(subtractHistogram(twice, HISTOGRAM)).toEqual(HISTOGRAM);
  expect(subtractHistogram(HISTOGRAM, [])).toEqual(HISTOGRAM);
});

test.each([
  [25, 0.05],
  [70, 0.15],
  [90, 0.2],
  [99, 0.4],
])('the percentile %d of a histogram is interpolated within a bucket: %d', (percent, expected) => {
  const counts: [number, number][] = [
    [0.1, 50],
    [0.2, 90],
    [0.4, 90],
    [Infinity, 100],
  ];
  const histogram = counts.map(([atMost, count]) => ({ atMost, count }));
  expect(histogramPercentile(histogram, percent)).toBeCloseTo(expected, 10);
});

test('distributionOf uses the nearest rank of numbers in any order', () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  expect(distributionOf(values)).toEqual({ count: 200, p50: 100, p95: 190, p99: 198, max: 200 });
  expect(distributionOf([])).toMatchObject({ count: 0, p50: Number.NaN, max: Number.NaN });
});

test('webhookFigures pairs the first response of each kind with the first webhook of its kind', () => {
  const arrival = (event: Arrival['event'], receivedAt: number): Arrival => {
    return { monitorId: 'a', event, receivedAt, timestamp: new Date(receivedAt - 3).toISOString() };
  };
  const targets = [
    { failedAt: 100, recoveredAt: 200 },
    { failedAt: 100, recoveredAt: null },
    { failedAt: null, recoveredAt: null },
  ];
  const arrivals = [
    arrival('incident.created', 105),
    arrival('monitor.down', 110),
    arrival('monitor.down', 5_000),
    arrival('monitor.up', 230),
  ];
  const figures = webhookFigures(targets, ['a', 'b', 'c'], arrivals);
  expect(Object.fromEntries(figures.map(({ key, value }) => [key, value]))).toEqual({
    'webhook-p50': 10,
    'webhook-p99': 30,
    'webhook-stamp-p99': 3,
    'webhook-count': 2,
    'webhook-missing': 1,
  });
});
