import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';

/** The built one, as a process of its own: `npm test` builds first. */
const MAIN = new URL('../dist/main.js', import.meta.url).href;

test.each([
  [['--help'], 0, /--print-schedule/, ''],
  [['--seed', '3', '--print-schedule'], 0, /kill-notifier-after-send +notifier-[12]/, ''],
  [['--seed', 'x'], 1, /^$/, '--seed must be a whole number from 1 to 2147483648, not "x"\n'],
])('npm run test:faults -- %j', (args, status, stdout, stderr) => {
  const script = `import(${JSON.stringify(MAIN)}).then(({ main }) => main(process.argv.slice(1)))`;
  const ended = spawnSync(process.execPath, ['-e', script, '--', ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
  expect(ended).toMatchObject({ status, stdout: expect.stringMatching(stdout), stderr });
});
