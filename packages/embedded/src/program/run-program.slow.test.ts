import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { until } from '../testing/until.ts';
import { processesOf } from './sweep.ts';

/** The built program, run as a separate process. `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../../test/program-harness.js', import.meta.url));
/** Remaining processes are found through `/proc`, which other systems do not have. */
const onLinux = process.platform === 'linux' ? describe : describe.skip;

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeEach(async () => {
  folder = await createTemporaryFolder();
});
afterEach(() => folder.remove());

/** Starts the program and waits until it has started its own process. */
async function startHarness(behavior: string): Promise<ChildProcess> {
  const program = spawn(process.execPath, [HARNESS, behavior], {
    env: { DATA_DIR: folder.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await once(program.stdout, 'data');
  return program;
}

/** Waits until every process of the program has ended, and its folder is gone. */
async function expectNothingLeft(): Promise<void> {
  await until(
    'every process of the program to end',
    async () => (await processesOf(folder.path)).length === 0,
  );
  expect(await readdir(folder.path)).toEqual([]);
}

onLinux('a program ends with everything that it started', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('after %s', async (signal) => {
    const program = await startHarness('waits');
    expect(await processesOf(folder.path)).not.toEqual([]);
    program.kill(signal);
    expect(await once(program, 'exit')).toEqual([130, null]);
    await expectNothingLeft();
  });

  test.each([
    ['succeeds', 0],
    ['fails', 1],
    ['is not permitted', 2],
  ])('when its work %s', async (behavior, code) => {
    const program = await startHarness(behavior);
    expect(await once(program, 'exit')).toEqual([code, null]);
    expect(await processesOf(folder.path)).toEqual([]);
    expect(await readdir(folder.path)).toEqual([]);
  });

  test('when its output is closed', async () => {
    const program = await startHarness('writes');
    program.stdout?.destroy();
    program.stderr?.destroy();
    expect(await once(program, 'exit')).toEqual([129, null]);
    await expectNothingLeft();
  });

  test('when its parent was killed', async () => {
    const script = `
      require('node:child_process')
        .spawn(process.execPath, [${JSON.stringify(HARNESS)}, 'waits'], { stdio: ['ignore', 'pipe', 'ignore'] })
        .stdout.once('data', () => process.stdout.write('started'));`;
    const parent = spawn(process.execPath, ['-e', script], { env: { DATA_DIR: folder.path } });
    await once(parent.stdout, 'data');
    parent.kill('SIGKILL');
    await expectNothingLeft();
  });

  test('when it was killed itself', async () => {
    const program = await startHarness('waits');
    program.kill('SIGKILL');
    await expectNothingLeft();
  });

  test('at the second signal when its cleanup hangs', async () => {
    const program = await startHarness('cleanup-hangs');
    const exit = once(program, 'exit');
    await until('the program to end', () => {
      program.kill('SIGTERM');
      return program.exitCode !== null;
    });
    expect(await exit).toEqual([130, null]);
    await expectNothingLeft();
  });
});
