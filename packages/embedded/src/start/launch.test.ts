import { expect, test } from '@jest/globals';
import { agentUrl, nextFreePort } from './launch.ts';

test.each([
  ['http://localhost:3001', {}],
  ['http://localhost:3001', { HOST: '0.0.0.0' }],
  ['http://192.0.2.1:3001', { HOST: '192.0.2.1' }],
  ['http://tocsin.example.com:3001', { HOST: '0.0.0.0', PUBLIC_URL: 'http://tocsin.example.com:3000' }],
  ['http://[2001:db8::1]:3001', { PUBLIC_URL: 'http://[2001:db8::1]:3000' }],
  ['https://tocsin.example.com', { PUBLIC_URL: 'https://tocsin.example.com' }],
])('agents connect to %s with the settings %j', (url, settings) => {
  expect(agentUrl({ HOST: undefined, PUBLIC_URL: undefined, ...settings }, 3001)).toBe(url);
});

test('the last port is followed by any free one', async () => {
  expect(await nextFreePort(65_535)).toBeLessThan(65_535);
});
