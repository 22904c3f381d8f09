import { expect, test } from '@jest/globals';
import { channelState, describeNext, describeReach, prettyPayload } from './channel-text.ts';

const SINCE = '2026-03-01T12:00:00.000Z';

test.each([
  [{ enabled: true, disabledReason: null, failingSince: null }, 'working'],
  [{ enabled: true, disabledReason: null, failingSince: SINCE }, 'failing'],
  [{ enabled: false, disabledReason: null, failingSince: SINCE }, 'switched-off'],
  [{ enabled: false, disabledReason: 'The receiver answered 410.', failingSince: SINCE }, 'disabled'],
])('of %j is %s', (channel, state) => {
  expect(channelState(channel)).toBe(state);
});

test('says what a channel is told of', () => {
  expect(describeReach({ allMonitors: true, monitorIds: ['a'] })).toBe('All monitors');
  expect(describeReach({ allMonitors: false, monitorIds: [] })).toBe('No monitor yet');
  expect(describeReach({ allMonitors: false, monitorIds: ['a'] })).toBe('1 monitor');
  expect(describeReach({ allMonitors: false, monitorIds: ['a', 'b'] })).toBe('2 monitors');
});

test('lays a payload out to be read, and leaves alone what is no JSON', () => {
  expect(prettyPayload('{"event":"monitor.up","latency":3}')).toBe(
    '{\n  "event": "monitor.up",\n  "latency": 3\n}',
  );
  expect(prettyPayload('not {json')).toBe('not {json');
});

test('says why there is no next attempt', () => {
  expect(describeNext({ state: 'pending' })).toBe('under way');
  expect(describeNext({ state: 'held' })).toBe('when redelivered');
  expect(describeNext({ state: 'delivered' })).toBe('–');
});
