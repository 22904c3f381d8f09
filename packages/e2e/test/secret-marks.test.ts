import { describe, expect, test } from '@jest/globals';
import { findSecrets } from './secret-marks.ts';

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
