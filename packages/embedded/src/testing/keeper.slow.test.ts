import { fork } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { processesOf } from '../program/sweep.ts';
import { until } from './until.ts';

/** The built program, run as a separate process. `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../../test/run-harness.js', import.meta.url));
const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('a test run that is killed leaves no process, no server and no file behind', async () => {
  const { PATH, TEST_FOLDER } = process.env;
  // If this test itself is killed, the keeper of its own run ends the harness.
  const run = fork(HARNESS, [], { execArgv: [], env: { PATH, TEST_FOLDER, TMPDIR: TEST_FOLDER } });
  const [folder] = (await once(run, 'message')) as [string];
  expect(await processesOf(folder)).toHaveLength(1);
  run.kill('SIGKILL');
  await until('the processes of the run to end', async () => (await processesOf(folder)).length === 0);
  // The servers stop before their data is removed.
  await until('the folder of the run to be removed', () =>
    access(dirname(folder)).then(
      () => false,
      () => true,
    ),
  );
});
