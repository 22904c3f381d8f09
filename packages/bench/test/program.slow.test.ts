import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startProgram } from '@tocsin/lab/started-program';
import { processesOf } from '@tocsin/embedded/program/sweep';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';

/** The benchmark reads `/proc`, which other systems do not have. */
const onLinux = process.platform === 'linux' ? test : test.skip;

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeAll(async () => {
  folder = await createTemporaryFolder();
});
afterAll(() => folder.remove());

onLinux('npm run bench leaves nothing behind when it is interrupted', async () => {
  const { path } = folder;
  const main = new URL('../dist/main.js', import.meta.url);
  const run = startProgram(main, ['http-1000', '--rate', '10', '--seconds', '5'], path);
  await run.printed('Measuring the floor');
  expect(await processesOf(path)).not.toEqual([]);
  run.child.kill('SIGINT');
  expect((await run.ended).code).toBe(130);
  expect(await readdir(path)).toEqual([]);
  expect(await processesOf(path)).toEqual([]);
});
