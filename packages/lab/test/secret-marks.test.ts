import { describe, expect, test } from '@jest/globals';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { Redis } from 'ioredis';
import { findSecrets, watchStore } from './secret-marks.ts';

const SECRET = 'Mark/of "ours"+é';
const inBase64 = (before: string): string => Buffer.from(`${before}${SECRET} and more`).toString('base64');

describe('findSecrets', () => {
  test.each([
    ['as it is', SECRET],
    ['escaped in JSON', JSON.stringify({ a: SECRET })],
    ['percent-encoded', encodeURIComponent(SECRET)],
    ['in hexadecimal', Buffer.from(SECRET).toString('hex').toUpperCase()],
    ['in base64', inBase64('')],
    ['in base64, a byte later', inBase64('a')],
    ['in base64, two bytes later', inBase64('ab')],
    ['in base64url', Buffer.from(`abc${SECRET}`).toString('base64url')],
  ])('finds a secret %s', (_name, text) => {
    const surfaces = [
      { where: 'a log', text: `before ${text} after` },
      { where: 'elsewhere', text: 'Mark of ours' },
    ];
    expect(findSecrets({ it: SECRET, other: 'something else' }, surfaces)).toEqual(['it at a log']);
  });
});

test('watchStore sees the commands of one database as they were sent', async () => {
  const [watched, other] = [await createTestRedis(), await createTestRedis()];
  const clients = [watched, other].map(({ url }) => new Redis(url));
  const store = await watchStore(watched.url);
  for (const [index, client] of clients.entries()) await client.set(`key ${index}`, `${SECRET}\n${index}`);
  await until('the commands to be seen', () => store.read().text.includes('key 0'));
  expect(findSecrets({ it: SECRET }, [store.read()])).toHaveLength(1);
  expect(store.read().text).not.toContain('key 1');
  for (const client of clients) client.disconnect();
  store.stop();
});
