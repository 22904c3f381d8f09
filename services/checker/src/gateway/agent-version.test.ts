import { expect, test } from '@jest/globals';
import { isServedAgent, oldestAgentVersion } from './agent-version.ts';

test.each([
  ['1.4.2', '1.4.0', true],
  ['1.4.2', '1.4.9-rc.1', true],
  ['1.4.2', '1.3.0', true],
  ['1.4.2', '1.2.9', false],
  ['1.4.2', '0.9.0', false],
  ['1.4.2', '1.5.0', true],
  ['1.4.2', '2.0.0', true],
  ['0.1.0', '0.0.7', true],
  ['2.0.0', '1.0.0', true],
  ['2.0.0', '0.9.0', false],
  ['1.4.2', 'latest', false],
  ['1.4.2', '1.4.0\0', false],
])('a gateway %s with an agent %s: served %s', (gateway, agent, isServed) => {
  expect(isServedAgent(agent, gateway)).toBe(isServed);
});

test('names the oldest version that it serves', () => {
  expect(['1.4.2', '2.0.1', '0.0.1'].map(oldestAgentVersion)).toEqual(['1.3.0', '1.0.0', '0.0.0']);
});
