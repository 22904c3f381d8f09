import { Readable } from 'node:stream';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, jest, test } from '@jest/globals';
import { check, loopbackEgress, useLocalTargets } from './testing/local-targets.ts';
import { decodeBody } from './body.ts';

const targets = useLocalTargets();

const TEXT = 'a needle in a häystack';
const MIB = 1024 * 1024;

function decode(
  bytes: Buffer,
  isComplete: boolean,
  coding: string,
  contentType: string,
): ReturnType<typeof decodeBody> {
  return decodeBody(bytes, isComplete, { 'content-encoding': coding, 'content-type': contentType });
}

describe('content codings', () => {
  test.each([
    ['gzip', gzipSync(TEXT)],
    ['X-GZip', gzipSync(TEXT)],
    ['deflate', deflateSync(TEXT)],
    ['deflate', deflateRawSync(TEXT)],
    ['identity', Buffer.from(TEXT)],
    ['', Buffer.from(TEXT)],
    ['UTF-8', Buffer.from(TEXT)],
    ['none', Buffer.from(TEXT)],
    ['aws-chunked', Buffer.from(TEXT)],
    ['aws-chunked, gzip', gzipSync(TEXT)],
    ['gzip ,utf-8,', gzipSync(TEXT)],
  ])('%s is decoded', async (coding, bytes) => {
    expect(await decode(bytes, true, coding, 'text/plain')).toEqual({ text: TEXT });
  });

  test.each([
    ['none, br', 'body has content coding “none, br”, which checks cannot read'],
    ['gzip, gzip', 'body has content coding “gzip, gzip”, which checks cannot read'],
    ['gzip', 'gzip body is not valid or not complete'],
    ['deflate', 'deflate body is not valid or not complete'],
  ])('%s that cannot be decoded', async (coding, problem) => {
    expect(await decode(Buffer.from('\xffplain text', 'latin1'), true, coding, '')).toEqual({ problem });
  });

  test('an empty body is not decoded', async () => {
    expect(await decode(Buffer.alloc(0), true, 'gzip', '')).toEqual({ text: '' });
  });

  test('a body that the check truncated is decoded as far as possible, but not one that the server truncated', async () => {
    const words = Array.from({ length: 20_000 }, (_, index) => `word ${index * 7919}`).join(' ');
    const bytes = gzipSync(words);
    const half = bytes.subarray(0, bytes.length / 2);
    const decoded = await decode(half, false, 'gzip', '');
    const text = 'text' in decoded ? decoded.text : '';
    expect(text.length).toBeGreaterThan(1_000);
    expect(words.startsWith(text)).toBe(true);
    expect(await decode(half, true, 'gzip', '')).toEqual({
      problem: 'gzip body is not valid or not complete',
    });
  });

  test.each([
    ['gzip', gzipSync(Buffer.alloc(32 * MIB))],
    ['deflate', deflateSync(Buffer.alloc(32 * MIB))],
  ])('a %s bomb is decompressed to at most 1 MiB', async (coding, bomb) => {
    expect(bomb.length).toBeLessThan(MIB);
    const pushed = jest.spyOn(Readable.prototype, 'push');
    const decoded = await decode(bomb, true, coding, '');
    const unfolded = pushed.mock.calls.reduce(
      (sum, [chunk]) => sum + ((chunk as Buffer | null)?.length ?? 0),
      0,
    );
    pushed.mockRestore();
    expect('text' in decoded && decoded.text.length).toBe(MIB);
    // Beyond the limit, only as much is decompressed as fits into the stream's buffer.
    expect(unfolded).toBeGreaterThanOrEqual(MIB);
    expect(unfolded).toBeLessThan(2 * MIB);
  });
});

describe('charsets', () => {
  test.each([
    ['text/html', Buffer.from(TEXT), TEXT],
    ['text/html; charset=ISO-8859-1', Buffer.from(TEXT, 'latin1'), TEXT],
    ['text/html;Charset="latin1"', Buffer.from(TEXT, 'latin1'), TEXT],
    ['text/html; charset=utf-16le', Buffer.from(TEXT, 'utf16le'), TEXT],
    ['text/html; charset=no-such-thing', Buffer.from(TEXT), TEXT],
    ['text/html', Buffer.from('caf\xe9 needle', 'latin1'), 'caf\ufffd needle'],
  ])('%s', async (contentType, bytes, text) => {
    expect(await decode(bytes, true, 'identity', contentType)).toEqual({ text });
  });
});

test.each([
  ['text/html; charset=utf-16le', Buffer.from([0x00, 0xd8, 0x00])],
  ['text/html; charset=utf-8', Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf4, 0x90])],
  ['text/html; charset=replacement', Buffer.from('x')],
  ['text/html; charset=\0', Buffer.from('x')],
  ['; charset'.repeat(7_000), Buffer.from('x')],
])('%#: invalid text is decoded to some text', async (contentType, bytes) => {
  expect(await decode(bytes, true, '', contentType)).toEqual({ text: expect.any(String) });
});

test('a response that cannot be decoded fails bodyNotContains', async () => {
  const target = await targets.http((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'zstd' }).end('opaque');
  });
  expect(
    await check(target.origin, loopbackEgress(), { assertions: { bodyNotContains: 'needle' } }),
  ).toMatchObject({
    status: 'DOWN',
    statusCode: 200,
    errorReason: 'UNKNOWN_ERROR',
    errorDetail: 'body has content coding “zstd”, which checks cannot read',
  });
});
