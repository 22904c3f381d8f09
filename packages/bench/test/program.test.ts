import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startProgram, type StartedProgram } from '@tocsin/lab/started-program';
import { processesOf } from '@tocsin/embedded/program/sweep';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';

/** Every monitor is checked once: the interval is 5 s. */
const SMALL = ['http-1000', '--rate', '10', '--seconds', '5'];
/** The benchmark reads `/proc`, which other systems do not have. */
const onLinux = process.platform === 'linux' ? describe : describe.skip;

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeAll(async () => {
  folder = await createTemporaryFolder();
});
afterAll(() => folder.remove());

function bench(args: readonly string[], dataDir: string): StartedProgram {
  return startProgram(new URL('../dist/main.js', import.meta.url), args, dataDir);
}

onLinux('npm run bench', () => {
  test('leaves nothing behind when it is interrupted', async () => {
    const dataDir = join(folder.path, 'stopped');
    await mkdir(dataDir);
    const run = bench(SMALL, dataDir);
    await run.printed('Measuring the floor');
    expect(await processesOf(dataDir)).not.toEqual([]);
    run.child.kill('SIGINT');
    expect((await run.ended).code).toBe(130);
    expect(await readdir(dataDir)).toEqual([]);
    expect(await processesOf(dataDir)).toEqual([]);
  });
});

test.each([
  [['--help'], 0, /postgres-200/, ''],
  [['nothing'], 1, /^$/, 'Unknown scenario "nothing". See --help\n'],
])('npm run bench with %j prints its help or an error', async (args, code, stdout, stderr) => {
  const ended = await bench(args, folder.path).ended;
  expect(ended).toEqual({ code, stdout: expect.stringMatching(stdout), stderr });
});
