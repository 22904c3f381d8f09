import { expect, test } from '@jest/globals';
import { webhookFigures, type Arrival } from './webhook-lag.ts';

function arrival(monitorId: string, event: Arrival['event'], receivedAt: number): Arrival {
  return { monitorId, event, receivedAt, timestamp: new Date(receivedAt - 3).toISOString() };
}

test('webhookFigures pairs the first response of each kind with the first webhook of its kind', () => {
  const figures = webhookFigures(
    [
      { failedAt: 100, recoveredAt: 200 },
      { failedAt: 100, recoveredAt: null },
      { failedAt: null, recoveredAt: null },
    ],
    ['a', 'b', 'c'],
    [
      arrival('a', 'incident.created', 105),
      arrival('a', 'monitor.down', 110),
      arrival('a', 'monitor.down', 5_000),
      arrival('a', 'monitor.up', 230),
    ],
  );
  expect(Object.fromEntries(figures.map(({ key, value }) => [key, value]))).toEqual({
    'webhook-p50': 10,
    'webhook-p99': 30,
    'webhook-stamp-p99': 3,
    'webhook-count': 2,
    'webhook-missing': 1,
  });
});
