import { expect, test } from '@jest/globals';
import { localUrl } from './listen.ts';

test.each([
  [undefined, 'http://localhost:3000'],
  ['0.0.0.0', 'http://localhost:3000'],
  ['::', 'http://localhost:3000'],
  ['127.0.0.1', 'http://localhost:3000'],
  ['127.0.0.2', 'http://127.0.0.2:3000'],
  ['192.0.2.1', 'http://192.0.2.1:3000'],
  ['::1', 'http://[::1]:3000'],
])('a server on %s is at %s', (host, url) => {
  expect(localUrl(host, 3000)).toBe(url);
});
