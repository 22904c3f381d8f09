/* A test run that starts a process. `src/testing/keeper.slow.test.ts` kills it. */
import { spawn } from 'node:child_process';
import { runTestServers } from '../dist/testing/run-servers.js';

const { folder } = await runTestServers();
spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
  detached: true,
  env: { TEST_FOLDER: folder },
  stdio: 'ignore',
});
process.send(folder);
