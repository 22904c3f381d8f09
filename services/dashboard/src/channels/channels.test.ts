import { expect, test } from '@jest/globals';
import type { RedeliveryResult } from '@tocsin/contracts/deliveries/delivery';
import { ApiError } from '../api/request.ts';
import { channelState } from './channel-text.ts';
import { toFormat, toFormatValues } from './format-values.ts';
import { redeliverAll, refreshAfterMs } from './queries.ts';

const SINCE = '2026-03-01T12:00:00.000Z';

test.each([
  [{ enabled: true, disabledReason: null, failingSince: null }, 'working'],
  [{ enabled: true, disabledReason: null, failingSince: SINCE }, 'failing'],
  [{ enabled: false, disabledReason: null, failingSince: SINCE }, 'switched-off'],
  [{ enabled: false, disabledReason: 'The receiver returned 410.', failingSince: SINCE }, 'disabled'],
])('the state of %j is %s', (channel, state) => {
  expect(channelState(channel)).toBe(state);
});

const NOW = Date.parse('2026-03-01T12:00:00Z');
const pending = (nextAttemptAt: string | null) => ({ state: 'pending' as const, nextAttemptAt });
const delivered = { state: 'delivered' as const, nextAttemptAt: null };

test.each([
  ['soon while an attempt is near', [[delivered, pending('2026-03-01T12:00:30Z')]], 3_000],
  ['soon while an attempt is late', [[delivered, pending('2026-03-01T11:59:00Z')]], 3_000],
  ['soon while an attempt is in progress', [[delivered, pending(null)]], 3_000],
  ['later when nothing is pending', [[delivered]], 15_000],
  ['later when no attempt is near', [[pending('2026-03-01T20:00:00Z')]], 15_000],
  ['less often if it has many pages', [[delivered], [pending(null)], []], 9_000],
])('a delivery log refreshes %s', (_, pages, ms) => {
  expect(refreshAfterMs(pages, NOW)).toBe(ms);
});

const DISABLED = new ApiError({ status: 409, title: '', detail: 'This channel is disabled.' });

/** Responds in this order. */
function respondWith(...responses: (RedeliveryResult | ApiError)[]) {
  return async (): Promise<RedeliveryResult> => {
    const response = responses.shift() ?? new Error('one request too many');
    if (response instanceof Error) throw response;
    return response;
  };
}

test.each([
  ['no more are left', { count: 500, more: false }, 1_500],
  ['a request releases nothing', { count: 0, more: true }, 1_000],
])('redeliverAll repeats the request until %s, and adds up the counts', async (_, last, count) => {
  const redeliverSome = respondWith({ count: 1_000, more: true }, last);
  expect(await redeliverAll(redeliverSome)).toEqual({ count, more: last.more });
});

test('redeliverAll adds the count so far to the error of a later request', async () => {
  const redeliverSome = respondWith({ count: 1_000, more: true }, { count: 200, more: true }, DISABLED);
  await expect(redeliverAll(redeliverSome)).rejects.toThrow(
    '1200 deliveries will be sent again. The request for the others failed. This channel is disabled.',
  );
  await expect(redeliverAll(respondWith(DISABLED))).rejects.toBe(DISABLED);
});

test.each([
  { format: 'standard', template: null, headers: null, routingKey: null, remindAfter: null },
  {
    format: 'custom',
    template: '{{ status | json }}',
    headers: { Authorization: 'Bearer a:b', 'X-Team': 'ops' },
    routingKey: 'R0UT1NG',
    remindAfter: 300,
  },
] as const)('the form keeps the format of a channel (%#)', (fields) => {
  expect(toFormat(toFormatValues(fields))).toEqual(fields);
});
