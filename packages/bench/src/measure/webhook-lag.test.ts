import { expect, test } from '@jest/globals';
import type { Arrival } from '../processes/webhook-sink.ts';
import { webhookLagOf } from './webhook-lag.ts';

function arrival(monitorId: string, event: Arrival['event'], receivedAt: number): Arrival {
  return { monitorId, event, receivedAt, stampedAt: receivedAt - 3 };
}

test('pairs the first answer of each kind with the first webhook of its kind', () => {
  const lag = webhookLagOf(
    [
      { monitorId: 'a', report: { failedAt: 100, recoveredAt: 200 } },
      { monitorId: 'b', report: { failedAt: 100, recoveredAt: null } },
      { monitorId: 'c', report: { failedAt: null, recoveredAt: null } },
    ],
    [
      arrival('a', 'incident.created', 105),
      arrival('a', 'monitor.down', 110),
      arrival('a', 'monitor.down', 5_000),
      arrival('a', 'monitor.up', 230),
    ],
  );
  expect(lag.sinceAnswerMs).toMatchObject({ count: 2, p50: 10, max: 30 });
  expect(lag.sinceStampMs).toMatchObject({ count: 2, max: 3 });
  expect(lag.missing).toBe(1);
});
