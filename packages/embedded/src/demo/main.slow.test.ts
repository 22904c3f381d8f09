import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';

/** The built program, run as a separate process. `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../../test/demo-harness.js', import.meta.url));

test('the demo checks monitors in both regions, and receives every webhook', async () => {
  const folder = await createTemporaryFolder();
  const child = spawn(process.execPath, [HARNESS], {
    env: { PATH: process.env['PATH'], DATA_DIR: folder.path },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  await Promise.all([once(child, 'exit'), once(child.stdout, 'end')]);
  await folder.remove();
  expect(output).toMatch(/Printer: DOWN → UP[^]*20 of them unique\. None was lost\.\n/);
});
