/* A program that starts a process in its own folder. `src/program/run-program.slow.test.ts` runs it. */
import { spawn } from 'node:child_process';
import { openFolder } from '../dist/program/teardown.js';
import { NotPermittedError, runProgram } from '../dist/program/run-program.js';

const [behavior] = process.argv.slice(2);
await runProgram(async (teardown) => {
  await openFolder('program', teardown);
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    detached: true,
    stdio: 'ignore',
  });
  teardown.onStop(async () => {
    if (behavior === 'cleanup-hangs') await new Promise(() => {});
    child.kill();
  });
  process.stdout.write('started\n');
  if (behavior === 'succeeds') return 0;
  if (behavior === 'fails') throw new Error('no luck');
  if (behavior === 'is not permitted') throw new NotPermittedError('Run it as root.');
  setInterval(() => {
    if (behavior === 'writes') process.stdout.write('working\n');
  }, 20);
  return new Promise(() => {});
});
