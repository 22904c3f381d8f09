import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';

test('a reader that stops reading ends the command with the exit code of SIGPIPE', async () => {
  const child = spawn(process.execPath, ['packages/cli/bin/tocsin.js', 'apply', '--help'], {
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.destroy();
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(141);
});
