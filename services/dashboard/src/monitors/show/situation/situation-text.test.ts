import { describe, expect, test } from '@jest/globals';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { TimelineDelivery, TimelineEntry } from '@tocsin/contracts/incidents/timeline';
import { eventAt, regionWith } from '../../testing/records.ts';
import { groupRegions, latestFailures, outcomesOf } from './situation-text.ts';

const PASSING = regionWith();
const FAILING = regionWith({ region: 'us', status: 'DOWN', failing: true, consecutiveFailures: 7 });

test('groupRegions puts problems first', () => {
  const others = [regionWith({ region: 'ap' }), regionWith({ region: 'sa', eligible: false })];
  expect(groupRegions([PASSING, FAILING, ...others], [], [])).toEqual([
    { kind: 'failing', text: 'us: Failing, 7 consecutive failures' },
    { kind: 'silent', text: 'No recent result: sa' },
    { kind: 'passing', text: 'Passing: eu and ap' },
  ]);
  // A region below the threshold fails, too.
  const first = { ...FAILING, failing: false, consecutiveFailures: 1 };
  expect(groupRegions([first], [], [])).toEqual([{ kind: 'failing', text: 'us: 1 failure' }]);
});

test('a region without a network or a checker is neither passing nor failing', () => {
  expect(groupRegions([PASSING, FAILING], ['us'], ['eu'])).toEqual([
    { kind: 'unserved', text: 'Not checked from eu: no checker or agent is running there' },
    { kind: 'isolated', text: 'No network: us. Its failures do not count' },
  ]);
  expect(groupRegions([FAILING], ['us'], ['us'])).toMatchObject([{ kind: 'unserved' }]);
});

test('the latest failure is one that counts', () => {
  const failed = { status: 'DOWN', errorReason: 'HTTP_503' } as const;
  const events = [
    { ...eventAt(9), ...failed, inconclusive: true },
    { ...eventAt(8), ...failed, url: 'https://preview.example.com' },
    eventAt(7),
    { ...eventAt(6), ...failed },
    { ...eventAt(4), ...failed, hasResponse: true },
    { ...eventAt(2), ...failed, hasResponse: true },
  ];
  for (const order of [events, events.toReversed()]) {
    const { failure, kept } = latestFailures(order);
    expect([failure?.id, kept?.id]).toEqual(['6', '4']);
  }
  expect(latestFailures([eventAt(1)])).toEqual({ failure: null, kept: null });
});

describe('outcomesOf', () => {
  const channel = (id: string, fields: Partial<Channel> = {}): Channel =>
    ({ id, name: `Channel ${id}`, enabled: true, ...fields }) as Channel;
  const delivery = (id: string, fields: Partial<TimelineDelivery>): TimelineEntry => ({
    kind: 'delivery',
    timestamp: '2026-01-01T00:00:00.000Z',
    delivery: {
      channel: { id, name: `Channel ${id}` },
      state: 'delivered',
      attemptCount: 1,
      statusCode: 200,
      error: null,
      ...fields,
    } as TimelineDelivery,
  });

  test('has the worst outcome of each channel, and channels to which nothing was sent', () => {
    const failed = delivery('a', { state: 'failed', error: 'timed out' });
    const entries = [delivery('a', {}), failed, delivery('b', {})];
    const channels = [channel('a'), channel('c'), channel('d', { enabled: false })];
    expect(outcomesOf(entries, channels).map((one) => [one.channelId, one.state, one.detail])).toEqual([
      ['a', 'failed', 'after 1 attempt: Timed out'],
      ['b', 'delivered', null],
      ['c', 'none', 'Nothing sent about this incident'],
      ['d', 'none', 'Disabled'],
    ]);
  });
});
