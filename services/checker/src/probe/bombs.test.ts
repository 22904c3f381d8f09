import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Assertions } from '@tocsin/contracts/monitor';
import { createLocalTargets, type LocalTarget } from './test-targets.ts';

const MIB = 1024 * 1024;
/** The built probe, in a process of its own: `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../../test/probe-many.js', import.meta.url));
const targets = createLocalTargets();
afterEach(() => targets.closeAll());

interface Cost {
  readonly grownBytes: number;
  readonly longestStallMs: number;
  readonly longestMs: number;
  readonly outcomes: readonly string[];
}

interface Load {
  readonly many: number;
  readonly timeoutMs: number;
  readonly assertions: Assertions;
}

async function probeMany(origins: readonly string[], load: Load): Promise<Cost> {
  const child = fork(HARNESS, [JSON.stringify({ urls: origins, ...load })], {
    env: { PATH: process.env['PATH'], NODE_OPTIONS: '' },
    execArgv: ['--expose-gc'],
  });
  const [cost] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the checks ended with ${String(code)}`);
    }),
  ])) as [Cost];
  return cost;
}

function serve(coding: string, bytes: Buffer): Promise<LocalTarget> {
  return targets.http((_request, response) => {
    response.writeHead(200, { 'content-encoding': coding }).end(bytes);
  });
}

let gigabyte: Record<'gzip' | 'deflate' | 'br', Buffer>;
beforeAll(() => {
  const zeros = Buffer.alloc(64 * MIB);
  gigabyte = {
    // Sixteen members after each other are one gzip text.
    gzip: Buffer.concat(Array<Buffer>(16).fill(gzipSync(zeros, { level: 9 }))),
    deflate: deflateSync(zeros, { level: 9 }),
    br: brotliCompressSync(zeros, { params: { 1: 2 } }),
  };
});

describe('many checks at once of targets that answer with', () => {
  test('bombs: no more memory than what they may unfold to', async () => {
    const nested = gzipSync(gigabyte.gzip);
    const bombs = await Promise.all([
      serve('gzip', gigabyte.gzip),
      serve('deflate', gigabyte.deflate),
      serve('br', gigabyte.br),
      serve('gzip', nested),
      serve('gzip, gzip', nested),
      serve('zstd', gigabyte.gzip),
    ]);
    const cost = await probeMany(
      bombs.map(({ origin }) => origin),
      { many: 120, timeoutMs: 20_000, assertions: { bodyContains: 'needle' } },
    );
    expect(cost.outcomes).toEqual(['DOWN UNKNOWN_ERROR']);
    expect(cost.grownBytes).toBeLessThan(400 * MIB);
    // Some 50 ms; what is measured is that no check holds up all the others.
    expect(cost.longestStallMs).toBeLessThan(5_000);
    await Promise.all(bombs.map((bomb) => bomb.allClosed()));
  });

  test('chunks of a byte each: no more memory than for any other body', async () => {
    const chunks = '1\r\nx\r\n'.repeat(10_000);
    const target = await targets.tcp((socket) => {
      const pour = (): void => {
        while (!socket.destroyed && socket.write(chunks));
      };
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        pour();
      });
      socket.on('drain', pour);
    });
    const load = { many: 4, timeoutMs: 2_500, assertions: { bodyContains: 'needle' } };
    const cost = await probeMany([target.origin], load);
    // As lists of chunks they took 400 MB.
    expect(cost.grownBytes).toBeLessThan(100 * MIB);
    expect(cost.longestMs).toBeLessThan(2_500 + 5_000);
    await target.allClosed();
  });

  test('bodies of a MiB each, never ended: each is ended by the check', async () => {
    const target = await targets.http((_request, response) => {
      response.write(Buffer.alloc(2 * MIB, 'x'));
    });
    const load = { many: 100, timeoutMs: 20_000, assertions: { bodyNotContains: 'needle' } };
    const cost = await probeMany([target.origin], load);
    expect(cost.outcomes).toEqual(['UP null']);
    expect(cost.grownBytes).toBeLessThan(400 * MIB);
    await target.allClosed();
  });
});
