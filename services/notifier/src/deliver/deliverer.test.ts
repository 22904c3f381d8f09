import { describe, expect, test } from '@jest/globals';
import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { AttemptRecord } from '@tocsin/db/deliveries/record-attempt';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createNotifierMetrics } from '../metrics.ts';
import { decideOutcome, Deliverer, type DelivererOptions } from './deliverer.ts';
import type { WebhookResult } from './send-webhook.ts';

const HOUR_MS = 3_600_000;
const result: WebhookResult = {
  startedAt: new Date(0),
  durationMs: 20,
  statusCode: 500,
  error: 'responded with status 500',
  responseExcerpt: null,
  retryAfterMs: null,
};
const delivery: ClaimedDelivery = {
  id: 'd',
  leaseToken: 't',
  claimedAt: new Date(0),
  accountId: 'a',
  channelId: 'c',
  isChannelFailing: false,
  monitorId: 'm',
  event: 'monitor.down',
  payload: '{}',
  url: 'https://hooks.example',
  secrets: [],
  test: false,
  attemptCount: 0,
  roundAttemptCount: 0,
  elapsedMs: 0,
  traceparent: null,
};

describe('decideOutcome', () => {
  test.each([
    ['2xx', { error: null, statusCode: 200 }, {}, { kind: 'delivered' }],
    ['410', { statusCode: 410 }, {}, { kind: 'gone' }],
    ['500', {}, {}, { kind: 'retry', delayMs: 5_000 }],
    ['the third failure', {}, { roundAttemptCount: 2 }, { kind: 'retry', delayMs: 30_000 }],
    ['the first failure after a redelivery', {}, { attemptCount: 9 }, { kind: 'retry', delayMs: 5_000 }],
    ['a test event', {}, { test: true }, { kind: 'failed' }],
    ['a test event and 410', { statusCode: 410 }, { test: true }, { kind: 'failed' }],
    ['a test event and 2xx', { error: null, statusCode: 200 }, { test: true }, { kind: 'delivered' }],
    ['Retry-After', { retryAfterMs: 9_000, statusCode: 429 }, {}, { kind: 'retry', delayMs: 9_000 }],
    ['no response', { statusCode: null, error: 'no response' }, {}, { kind: 'retry', delayMs: 5_000 }],
    ['after 72 h', {}, { roundAttemptCount: 30, elapsedMs: 72 * HOUR_MS }, { kind: 'failed' }],
  ])('%s', (_, given, state, expected) => {
    expect(decideOutcome({ ...delivery, ...state }, { ...result, ...given }, 0.5)).toEqual(expected);
  });
});

function delivererOn(options: Partial<DelivererOptions>): Deliverer {
  return new Deliverer({
    send: async () => result,
    recordAttempt: async () => null,
    metrics: createNotifierMetrics(createMetrics()),
    logger: createSilentLogger(),
    onRecorded: () => undefined,
    ...options,
  });
}

test('an outcome that Postgres refuses at first is recorded later, once', async () => {
  const recorded: AttemptRecord[] = [];
  let tries = 0;
  const deliverer = delivererOn({
    // The clock is stopped, so that the lease of the attempt does not end.
    now: () => 0,
    recordAttempt: async (attempt) => {
      tries += 1;
      if (tries === 1) throw new Error('connection terminated');
      recorded.push(attempt);
      return null;
    },
  });
  await deliverer.attempt(delivery);
  expect(recorded).toEqual([expect.objectContaining({ deliveryId: 'd', leaseToken: 't', statusCode: 500 })]);
});

test('a delivery claimed long after the stop began is left to other processes', async () => {
  let now = 1_000;
  const sent: string[] = [];
  const deliverer = delivererOn({
    now: () => now,
    send: async ({ id }) => {
      sent.push(id);
      return result;
    },
  });
  deliverer.stop();
  now = 6_000;
  await deliverer.attempt({ ...delivery, id: 'just claimed' });
  now = 6_001;
  await deliverer.attempt({ ...delivery, id: 'late' });
  // A second signal.
  deliverer.stop();
  await deliverer.attempt({ ...delivery, id: 'late too' });
  expect(sent).toEqual(['just claimed']);
});
