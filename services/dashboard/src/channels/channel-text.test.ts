import { expect, test } from '@jest/globals';
import { channelState, describeEvents, prettyPayload } from './channel-text.ts';

const SINCE = '2026-03-01T12:00:00.000Z';

test.each([
  [{ enabled: true, disabledReason: null, failingSince: null }, 'working'],
  [{ enabled: true, disabledReason: null, failingSince: SINCE }, 'failing'],
  [{ enabled: false, disabledReason: null, failingSince: SINCE }, 'switched-off'],
  [{ enabled: false, disabledReason: 'The receiver returned 410.', failingSince: SINCE }, 'disabled'],
])('the state of %j is %s', (channel, state) => {
  expect(channelState(channel)).toBe(state);
});

test('describeEvents names the events of a channel', () => {
  expect(describeEvents(null)).toBe('All events');
  expect(describeEvents(['monitor.down', 'incident.resolved'])).toBe('Monitor down, Incident resolved');
});

test('prettyPayload indents JSON and leaves other payloads unchanged', () => {
  expect(prettyPayload('{"event":"monitor.up","latency":3}')).toBe(
    '{\n  "event": "monitor.up",\n  "latency": 3\n}',
  );
  expect(prettyPayload('not {json')).toBe('not {json');
});
