import { expect, test } from '@jest/globals';
import { behaviorOf, pathOf } from './target-path.ts';

test.each([
  { delayMs: 20, flapPhaseMs: null },
  { delayMs: 800, flapPhaseMs: 0 },
  { delayMs: 133, flapPhaseMs: 599_000 },
])('the target reads %j from its path', (behavior) => {
  expect(behaviorOf(`GET ${pathOf(behavior)} HTTP/1.1\r\nHost: s1.fleet.test\r\n\r\n`)).toEqual(behavior);
});

test.each(['GET /m/1 HTTP/1.1', 'GET /d/x HTTP/1.1', 'GET /d/20/x HTTP/1.1', 'POST /d/20 HTTP/1.1'])(
  'the target finds no behavior in %j',
  (head) => {
    expect(behaviorOf(`${head}\r\n\r\n`)).toBeNull();
  },
);
