import { expect, test } from '@jest/globals';
import { webhookLagOf, type Arrival } from './webhook-lag.ts';

function arrival(monitorId: string, event: Arrival['event'], receivedAt: number): Arrival {
  return { monitorId, event, receivedAt, timestamp: new Date(receivedAt - 3).toISOString() };
}

test('pairs the first response of each kind with the first webhook of its kind', () => {
  const lag = webhookLagOf(
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
  expect(lag.sinceResponseMs).toMatchObject({ count: 2, p50: 10, max: 30 });
  expect(lag.sinceStampMs).toMatchObject({ count: 2, max: 3 });
  expect(lag.missing).toBe(1);
});
