import { setImmediate } from 'node:timers/promises';
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
  attemptLimit: 10,
  isLimitReached: false,
  monitorId: 'm',
  event: 'monitor.down',
  payload: '{}',
  url: 'https://hooks.example',
  secrets: [],
  headers: {},
  routingKey: null,
  formatError: null,
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

/** Makes a deliverer, and lists what it records individually. Receivers respond with status 500 unless the options differ. */
function delivererOn(options: Partial<DelivererOptions>): {
  deliverer: Deliverer;
  recorded: AttemptRecord[];
} {
  const recorded: AttemptRecord[] = [];
  const deliverer = new Deliverer({
    send: async () => result,
    recordAttempt: async (attempt) => {
      recorded.push(attempt);
      return null;
    },
    recordDelivered: async () => undefined,
    watchOutages: async () => undefined,
    metrics: createNotifierMetrics(createMetrics()),
    logger: createSilentLogger(),
    onRecorded: () => undefined,
    ...options,
  });
  return { deliverer, recorded };
}

test('an outcome that Postgres refuses at first is recorded later, once', async () => {
  const recorded: AttemptRecord[] = [];
  let tries = 0;
  const { deliverer } = delivererOn({
    // The clock is stopped, so that the attempt's lease does not end.
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

const delivered: WebhookResult = { ...result, statusCode: 204, error: null };

test('successful attempts that end together are recorded together', async () => {
  const batches: string[][] = [];
  const { deliverer } = delivererOn({
    send: async () => delivered,
    recordDelivered: async (attempts) => void batches.push(attempts.map(({ deliveryId }) => deliveryId)),
  });
  const ids = Array.from({ length: 250 }, (_, index) => `d${index}`);
  await Promise.all(ids.map((id) => deliverer.attempt({ ...delivery, id })));
  expect(batches.flat()).toEqual(ids);
  expect(batches.map(({ length }) => length)).toEqual([200, 50]);
});

test('an attempt that Postgres rejects does not stop the others in its batch', async () => {
  const { deliverer, recorded } = delivererOn({
    now: () => 0,
    send: async () => delivered,
    recordDelivered: async (attempts) => {
      if (attempts.some(({ deliveryId }) => deliveryId === 'bad')) throw new Error('refused');
    },
  });
  await Promise.all(['a', 'bad', 'b'].map((id) => deliverer.attempt({ ...delivery, id })));
  expect(recorded.map(({ deliveryId }) => deliveryId).toSorted()).toEqual(['a', 'b', 'bad']);
});

test('many failures leave connections for claims', async () => {
  let recording = 0;
  let most = 0;
  const { deliverer } = delivererOn({
    recordAttempt: async () => {
      recording += 1;
      most = Math.max(most, recording);
      await setImmediate();
      recording -= 1;
      return null;
    },
  });
  await Promise.all(Array.from({ length: 50 }, (_, id) => deliverer.attempt({ ...delivery, id: `d${id}` })));
  expect(most).toBe(4);
});

test('a failure is recorded with the changes that it makes to its channel', async () => {
  const results = [{ ...result, statusCode: 429, retryAfterMs: 30_000 }, result];
  const { deliverer, recorded } = delivererOn({ send: async () => results.shift() ?? result });
  for (let attempts = 0; attempts < 2; attempts += 1) await deliverer.attempt(delivery);
  expect(recorded).toMatchObject([
    { attemptLimit: 10, nextAttemptLimit: 5, pauseMs: 30_000 },
    { attemptLimit: 10, nextAttemptLimit: 10, pauseMs: 0 },
  ]);
});

test('a delivery claimed long after the stop began is left to other processes', async () => {
  let now = 1_000;
  const sent: string[] = [];
  const { deliverer } = delivererOn({
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
  // The process got a second signal.
  deliverer.stop();
  await deliverer.attempt({ ...delivery, id: 'late too' });
  expect(sent).toEqual(['just claimed']);
});
