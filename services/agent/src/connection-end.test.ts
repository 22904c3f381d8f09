import { expect, test } from '@jest/globals';
import { AGENT_CLOSE } from '@tocsin/contracts/agents/protocol';
import { reconnectDelayMs } from './connection-end.ts';

const LOST = 1_006;

test.each([
  ['a lost connection', LOST, 0, [200, 200]],
  ['the third one', LOST, 2, [200, 800]],
  ['many lost connections', LOST, 1_000, [200, 5_000]],
  ['a restarting gateway', AGENT_CLOSE.restarting, 0, [0, 0]],
  ['a gateway that restarts repeatedly', AGENT_CLOSE.restarting, 1, [200, 400]],
  ['a refused token', AGENT_CLOSE.tokenRevoked, 0, [30_000, 30_000]],
  ['a refused version', AGENT_CLOSE.upgradeRequired, 0, [30_000, 30_000]],
])('after %s, the agent waits before it connects again: %#', (_what, code, attempts, expected) => {
  expect([0, 1].map((random) => reconnectDelayMs(code, attempts, () => random))).toEqual(expected);
});
