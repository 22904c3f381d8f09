import { expect, test } from '@jest/globals';
import { describeNext, prettyPayload } from './delivery-words.ts';

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
