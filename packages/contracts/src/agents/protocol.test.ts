import { expect, test } from '@jest/globals';
import { parseAgentMessage } from './protocol.ts';

test.each([
  ['name', '\0'],
  ['name', 'probe\ud800'],
  ['version', '0.1.0\0'],
])('an agent whose %s is %j is refused, because PostgreSQL cannot store it', (field, value) => {
  const hello = { type: 'hello', version: '0.1.0', name: 'probe-1', credits: 1 };
  expect(parseAgentMessage(JSON.stringify(hello))).toEqual(hello);
  expect(() => parseAgentMessage(JSON.stringify({ ...hello, [field]: value }))).toThrow(`invalid: ${field}`);
});
