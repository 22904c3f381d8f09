import { expect, test } from '@jest/globals';
import type { RedeliveryResult } from '@tocsin/contracts/deliveries/delivery';
import { ApiError } from '../api/request.ts';
import { describeRedelivery, redeliverAll, refreshAfterMs } from './queries.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const pending = (nextAttemptAt: string | null) => ({ state: 'pending' as const, nextAttemptAt });
const delivered = { state: 'delivered' as const, nextAttemptAt: null };

test('a delivery log refreshes soon while an attempt is near or in progress', () => {
  for (const at of ['2026-03-01T12:00:30Z', '2026-03-01T11:59:00Z', null])
    expect(refreshAfterMs([[delivered, pending(at)]], NOW)).toBe(3_000);
});

test('a delivery log refreshes later when no attempt is near', () => {
  expect(refreshAfterMs([], NOW)).toBe(15_000);
  expect(refreshAfterMs([[delivered]], NOW)).toBe(15_000);
  expect(refreshAfterMs([[pending('2026-03-01T20:00:00Z')]], NOW)).toBe(15_000);
});

test('a delivery log of many pages refreshes less often', () => {
  expect(refreshAfterMs([[delivered], [pending(null)], []], NOW)).toBe(9_000);
});

const DISABLED = new ApiError({
  status: 409,
  title: 'Conflict',
  detail: 'This channel is disabled: enable it first.',
});

/** Responses of the api in order, and how many of them were requested. */
function fakeClient(...responses: readonly (RedeliveryResult | ApiError)[]): {
  redeliverSome: () => Promise<RedeliveryResult>;
  requests: () => number;
} {
  let requests = 0;
  return {
    redeliverSome: () => {
      const response = responses[requests];
      requests += 1;
      if (response === undefined) return Promise.reject(new Error('one request too many'));
      return response instanceof ApiError ? Promise.reject(response) : Promise.resolve(response);
    },
    requests: () => requests,
  };
}

test('redeliverAll repeats the request while deliveries are left and adds up the counts', async () => {
  const { redeliverSome, requests } = fakeClient(
    { count: 1_000, more: true },
    { count: 1_000, more: true },
    { count: 500, more: false },
  );
  expect(await redeliverAll(redeliverSome)).toEqual({ count: 2_500, more: false });
  expect(requests()).toBe(3);
});

test('redeliverAll sends one request when no deliveries are left', async () => {
  const { redeliverSome, requests } = fakeClient({ count: 3, more: false });
  expect(await redeliverAll(redeliverSome)).toEqual({ count: 3, more: false });
  expect(requests()).toBe(1);
});

test('redeliverAll stops after a request that releases nothing and returns `more`', async () => {
  const { redeliverSome, requests } = fakeClient({ count: 1_000, more: true }, { count: 0, more: true });
  expect(await redeliverAll(redeliverSome)).toEqual({ count: 1_000, more: true });
  expect(requests()).toBe(2);
});

test('redeliverAll adds the count so far to the error of a later request', async () => {
  const { redeliverSome } = fakeClient({ count: 1_000, more: true }, { count: 200, more: true }, DISABLED);
  await expect(redeliverAll(redeliverSome)).rejects.toThrow(
    '1200 deliveries will be sent again. The request for the others failed. This channel is disabled: enable it first.',
  );
});

test('redeliverAll rejects with the error of the first request', async () => {
  await expect(redeliverAll(fakeClient(DISABLED).redeliverSome)).rejects.toBe(DISABLED);
});

test.each([
  [{ count: 0, more: false }, 'No undelivered alerts in this time range.'],
  [{ count: 1, more: false }, '1 delivery will be sent again.'],
  [{ count: 2, more: false }, '2 deliveries will be sent again.'],
  [
    { count: 2, more: true },
    '2 deliveries will be sent again. Others are being sent: try again in a minute.',
  ],
  [{ count: 0, more: true }, 'No delivery will be sent again. Others are being sent: try again in a minute.'],
])('%j is described as "%s"', (result, text) => {
  expect(describeRedelivery(result)).toBe(text);
});
