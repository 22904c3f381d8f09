import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Assertions } from '@tocsin/contracts/monitors/monitor';
import { createLocalTargets, type LocalTarget, NO_TIMEOUT_MS } from '../testing/local-targets.ts';

const MIB = 1024 * 1024;
/** A MiB each for the body as received, the decompressed body, and its text. */
const MAX_BYTES_PER_CHECK = 3 * MIB;
/** The built probe, in a process of its own: `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../../test/probe-many.js', import.meta.url));
const targets = createLocalTargets();
afterEach(() => targets.closeAll());

interface Cost {
  /** At the most. */
  readonly grownBytes: number;
  /** By the results, which may wait for Postgres; without buffers. */
  readonly keptBytes: number;
  readonly outcomes: readonly string[];
}

interface Load {
  readonly many: number;
  readonly assertions: Assertions;
}

async function probeMany(origins: readonly string[], load: Load): Promise<Cost> {
  const child = fork(HARNESS, [JSON.stringify({ urls: origins, timeoutMs: NO_TIMEOUT_MS, ...load })], {
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

let packed: Record<'gzip' | 'deflate' | 'br', Buffer>;
beforeAll(() => {
  const zeros = Buffer.alloc(16 * MIB);
  packed = {
    // Concatenated members are one gzip stream.
    gzip: Buffer.concat(Array<Buffer>(64).fill(gzipSync(zeros, { level: 9 }))),
    deflate: deflateSync(zeros, { level: 9 }),
    br: brotliCompressSync(zeros, { params: { 1: 2 } }),
  };
});

describe('many checks at once of targets that respond with', () => {
  test('compression bombs: no more memory than the decompression limit', async () => {
    const nested = gzipSync(packed.gzip);
    const bombs = await Promise.all([
      serve('gzip', packed.gzip),
      serve('deflate', packed.deflate),
      serve('br', packed.br),
      serve('gzip', nested),
      serve('gzip, gzip', nested),
      serve('zstd', packed.gzip),
    ]);
    const cost = await probeMany(
      bombs.map(({ origin }) => origin),
      { many: 48, assertions: { bodyContains: 'needle' } },
    );
    expect(cost.outcomes).toEqual(['DOWN UNKNOWN_ERROR']);
    expect(cost.grownBytes).toBeLessThan(48 * MAX_BYTES_PER_CHECK);
    await Promise.all(bombs.map((bomb) => bomb.allClosed()));
  });

  test('chunks of a byte each: no more memory than for any other body', async () => {
    const chunks = '1\r\nx\r\n'.repeat(100_000);
    const target = await targets.tcp((socket) => {
      socket.once('data', () => {
        socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
      });
    });
    const cost = await probeMany([target.origin], { many: 4, assertions: { bodyNotContains: 'needle' } });
    expect(cost.outcomes).toEqual(['UP null']);
    // A list of the chunks takes more than a hundred bytes for each.
    expect(cost.grownBytes).toBeLessThan(10 * MIB);
    await target.allClosed();
  });

  test('bodies of a MiB each, never ended: each is ended by the check', async () => {
    const target = await targets.http((_request, response) => {
      response.write(Buffer.alloc(2 * MIB, 'x'));
    });
    const cost = await probeMany([target.origin], { many: 32, assertions: { bodyNotContains: 'needle' } });
    expect(cost.outcomes).toEqual(['UP null']);
    expect(cost.grownBytes).toBeLessThan(32 * MAX_BYTES_PER_CHECK);
    await target.allClosed();
  });

  test('bodies of a MiB each without the text: the results keep only their beginnings', async () => {
    const body = Buffer.alloc(MIB, 'x');
    const target = await targets.http((_request, response) => void response.end(body));
    const cost = await probeMany([target.origin], { many: 32, assertions: { bodyContains: 'needle' } });
    expect(cost.outcomes).toEqual(['DOWN UNKNOWN_ERROR']);
    expect(cost.keptBytes).toBeLessThan(8 * MIB);
    await target.allClosed();
  });
});
