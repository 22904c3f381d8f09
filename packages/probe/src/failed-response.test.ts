import { gzipSync } from 'node:zlib';
import { describe, expect, jest, test } from '@jest/globals';
import type { FailedResponse } from '@tocsin/contracts/monitors/events';
import { FairShares } from '@tocsin/runtime/fair-shares';
import {
  check,
  holdProbeClock,
  loopbackEgress,
  pouring,
  responding,
  useLocalTargets,
} from './testing/local-targets.ts';
import { composeResponse } from './failed-response.ts';
import { Prober, type ProbeTarget } from './probe.ts';

const targets = useLocalTargets();
const egress = loopbackEgress();

const REQUEST = { url: 'https://shop.example/', headers: null, body: null };
const KEY = 'k3y-of-the-monitor';

/** Returns the kept part of a response with these bytes. */
async function keptOf(
  bytes: string | Buffer,
  changes: Partial<ProbeTarget> = {},
): Promise<FailedResponse | undefined> {
  const target = await responding(targets, bytes);
  const { response } = await check(`${target.origin}/`, egress, changes);
  return response?.();
}

describe('the response to a failed check', () => {
  test('has the headers, and the body if the status or an assertion on it fails', async () => {
    const head =
      'HTTP/1.1 503 Away\r\nContent-Type: text/plain\r\nRetry-After: 30\r\nContent-Length: 8\r\n\r\n';
    expect(await keptOf(`${head}not now\n`)).toEqual({
      headers: { 'content-type': 'text/plain', 'retry-after': '30', 'content-length': '8' },
      body: 'not now\n',
    });
    const assertions = { bodyContains: 'superb' };
    const kept = await keptOf('HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 4\r\n\r\nfine', { assertions });
    expect(kept).toMatchObject({ headers: { 'x-a': 'b' }, body: 'fine' });
  });

  test('has no body if the check did not keep it', async () => {
    const assertions = { certificateMinDays: 1 };
    const kept = await keptOf('HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 4\r\n\r\nfine', { assertions });
    expect(kept).toMatchObject({ headers: { 'x-a': 'b' }, body: null });
    expect(await keptOf('HTTP/1.1 302 Moved\r\nX-A: b\r\n\r\n')).toEqual({
      headers: { 'x-a': 'b' },
      body: null,
    });
    const switched = 'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: ws\r\n\r\n';
    expect(await keptOf(switched)).toMatchObject({ headers: { upgrade: 'ws' }, body: null });
  });

  test('is null without a head, and if the check passed', async () => {
    expect(await keptOf('HTTP/1.1 200 OK\r\nConten')).toBeUndefined();
    expect(await keptOf('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine')).toBeUndefined();
  });

  test('has the beginning of a body that is long, incomplete or compressed', async () => {
    const long = await keptOf(`HTTP/1.1 500 No\r\n\r\n${'é'.repeat(100_000)}`);
    expect(Buffer.byteLength(long?.body ?? '')).toBe(4_096);
    expect(long?.body).toMatch(/^é+$/);
    expect(await keptOf('HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\nneedle')).toMatchObject({
      body: 'needle',
    });
    const bytes = gzipSync('needle '.repeat(1_000_000));
    const head = `HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\nContent-Length: ${bytes.length}\r\n\r\n`;
    const compressed = await keptOf(Buffer.concat([Buffer.from(head), bytes]));
    expect(compressed?.body).toMatch(/^(needle )+/);
    expect(Buffer.byteLength(compressed?.body ?? '')).toBe(4_096);
    const toHead = await keptOf('HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\n', { method: 'HEAD' });
    expect(toHead?.body).toBe('');
  });
});

describe('reading the beginning of a body with a failed status', () => {
  test.each([
    ['a second', 10_000, 1_030],
    ['what is left of the timeout', 400, 400],
  ])('takes at most %s, and changes nothing else', async (_name, timeoutMs, endsAtMs) => {
    holdProbeClock();
    const target = await targets.tcp((socket) => {
      socket.once('data', () => {
        jest.advanceTimersByTime(30);
        socket.write('HTTP/1.1 503 Away\r\nContent-Type: text/event-stream\r\n\r\ndata: x');
      });
    });
    const checking = check(target.origin, egress, { timeoutMs });
    // Waits for the timer of the beginning, which follows that of the check.
    while (jest.getTimerCount() < 2) await new Promise(setImmediate);
    jest.advanceTimersByTime(endsAtMs - 30);
    const result = await checking;
    expect(result).toMatchObject({
      status: 'DOWN',
      statusCode: 503,
      errorReason: 'HTTP_503',
      errorDetail: 'expected a status from 200 to 399, got 503',
      latencyMs: 30,
      timings: { download: null },
    });
    expect(jest.getTimerCount()).toBe(0);
    await target.allClosed();
  });

  test('ends after 8 KiB of an endless body', async () => {
    const target = await pouring(targets, 'HTTP/1.1 500 No\r\n\r\n', 'x'.repeat(65_536));
    const { response } = await check(target.origin, egress);
    expect(response?.().body).toBe('x'.repeat(4_096));
    await target.allClosed();
  });

  test('needs no memory for large bodies, so that no failed check is dropped', async () => {
    const body = 'x'.repeat(40_000);
    const target = await responding(targets, `HTTP/1.1 500 No\r\nContent-Length: 40000\r\n\r\n${body}`);
    const prober = new Prober({ egress, largeBodies: new FairShares(0) });
    const result = await check(target.origin, egress, {}, prober);
    expect(result).toMatchObject({ status: 'DOWN', errorReason: 'HTTP_500' });
    expect(result.response?.().body).toBe('x'.repeat(4_096));
  });
});

describe('redaction', () => {
  test('of credentials that the target issues', () => {
    const names = ['authorization', 'x-auth-user', 'x-csrf-token', 'x-api-key', 'x-amz-signature'];
    const secrets = Object.fromEntries(names.map((name) => [name, 'abc']));
    const location = 'https://x.example/a?token=b#c';
    const sent = { ...secrets, 'set-cookie': ['a=b', 'c=d'], etag: '"abc"', location };
    expect(composeResponse(sent, null, REQUEST).headers).toEqual({
      ...Object.fromEntries([...names, 'set-cookie'].map((name) => [name, '[hidden]'])),
      etag: '"abc"',
      location: 'https://x.example/a…',
    });
  });

  test('of everything that the monitor sends, wherever the target repeats it', async () => {
    const target = await targets.http((request, response) => {
      const key = String(request.headers['x-key']);
      response.setHeader('X-Echo', `got ${key}`);
      response.setHeader(`X-${key}`, Buffer.from(key).toString('base64'));
      response.writeHead(500).end(`unknown key ${key}, in hex ${Buffer.from(key).toString('hex')}`);
    });
    const { response } = await check(target.origin, egress, { headers: { 'X-Key': KEY } });
    const kept = response?.();
    expect(kept?.headers['x-echo']).toBe('got [hidden]');
    expect(kept?.headers['x-[hidden]']).toBe('[hidden]');
    expect(kept?.body).toBe('unknown key [hidden], in hex [hidden]');
  });

  test('of a secret that begins before the cut, and of one among many', () => {
    const headers = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`X-${at}`, `${KEY}-${at}-and-more`]),
    );
    const request = { ...REQUEST, headers };
    const body = `${'x'.repeat(4_090)}${KEY}-7-and-more`;
    const kept = composeResponse({ 'x-echo': `${KEY}-39-and-more` }, body, request);
    expect(kept).toEqual({ headers: { 'x-echo': '[hidden]' }, body: `${'x'.repeat(4_090)}[hidde` });
  });
});

describe('bounds', () => {
  test('at most 50 headers of 8 KiB are kept, without values that are too long', () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`x-${at}`, 'a']));
    expect(Object.keys(composeResponse(many, null, REQUEST).headers)).toHaveLength(50);
    const long = { 'x-long': 'a'.repeat(8_200), 'x-short': 'a' };
    expect(composeResponse(long, null, REQUEST).headers).toEqual({ 'x-short': 'a' });
  });

  test('control characters are replaced, except tabs and line feeds', () => {
    const body = 'a\u0000b\r\n\tc\u001b[31md\u202ee\ud800f';
    const { headers, body: kept } = composeResponse({ 'x-a': 'caf\u00c3\u00a9\u0007' }, body, REQUEST);
    expect(headers).toEqual({ 'x-a': 'café ' });
    expect(kept).toBe('a b\n\tc [31md e f');
  });

  test('a header called __proto__ is kept as a header', async () => {
    const kept = await keptOf('HTTP/1.1 500 No\r\n__proto__: x\r\nContent-Length: 0\r\n\r\n');
    expect(JSON.parse(JSON.stringify(kept))).toMatchObject({ body: '' });
  });
});
