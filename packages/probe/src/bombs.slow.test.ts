import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { NO_TIMEOUT_MS, useLocalTargets } from './testing/local-targets.ts';

const MIB = 1024 * 1024;
/** The built probe, run as a separate process. `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../test/probe-many.js', import.meta.url));
const targets = useLocalTargets();

interface Cost {
  /** Memory that the results keep while they may wait for Postgres, without buffers. */
  readonly keptBytes: number;
  readonly outcomes: readonly string[];
}

async function probeMany(url: string, many: number): Promise<Cost> {
  const child = fork(HARNESS, [JSON.stringify({ url, many, timeoutMs: NO_TIMEOUT_MS })], {
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

test('the results of many failed checks of long bodies keep only the beginnings of the bodies', async () => {
  const body = Buffer.alloc(MIB, 'x');
  const target = await targets.http((_request, response) => void response.end(body));
  const cost = await probeMany(target.origin, 32);
  expect(cost.outcomes).toEqual(['DOWN UNKNOWN_ERROR']);
  expect(cost.keptBytes).toBeLessThan(8 * MIB);
  await target.allClosed();
});
