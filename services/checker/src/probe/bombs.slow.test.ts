import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Assertions } from '@tocsin/contracts/monitors/monitor';
import { createLocalTargets, NO_TIMEOUT_MS } from '../testing/local-targets.ts';

const MIB = 1024 * 1024;
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

describe('many checks at once of targets that respond with', () => {
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

  test('bodies of a MiB each without the text: the results keep only their beginnings', async () => {
    const body = Buffer.alloc(MIB, 'x');
    const target = await targets.http((_request, response) => void response.end(body));
    const cost = await probeMany([target.origin], { many: 32, assertions: { bodyContains: 'needle' } });
    expect(cost.outcomes).toEqual(['DOWN UNKNOWN_ERROR']);
    expect(cost.keptBytes).toBeLessThan(8 * MIB);
    await target.allClosed();
  });
});
