import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../build.js';

const SHUFFLE = /^--shuffle(?:=(\d+))?$/;
const SLOW_ONLY = '--slow-only';

/**
 * Runs jest and exits with its exit code. `--shuffle` runs test files in random order, and `--shuffle=SEED` repeats an order. `--slow-only`
 * skips the tests of `npm test`.
 * @param {readonly string[]} allArgs
 * @param {'fast' | 'all'} tier
 */
export async function runTests(allArgs, tier) {
  const args = allArgs.filter((arg) => !SHUFFLE.test(arg) && arg !== SLOW_ONLY);
  const shuffleSeed = seedOf(allArgs);
  if (shuffleSeed !== '')
    process.stdout.write(`Test files run in random order. To repeat it: --shuffle=${shuffleSeed}\n`);
  const jest = createRequire(join(ROOT, 'package.json')).resolve('jest/bin/jest');
  // jest loads ES modules through an experimental API of Node.js. Its workers inherit the environment.
  const nodeOptions = [
    process.env.NODE_OPTIONS,
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
  ];
  const child = spawn(process.execPath, [jest, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_OPTIONS: nodeOptions.filter(Boolean).join(' '),
      TEST_TIER: allArgs.includes(SLOW_ONLY) ? 'slow' : tier,
      TEST_SHUFFLE_SEED: shuffleSeed,
    },
  });
  // Ctrl-C reaches both processes. This one exits with jest's exit code.
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill('SIGTERM'));
  const [code, signal] = await once(child, 'exit');
  process.exitCode = code ?? 128 + constants.signals[signal];
}

/** Returns the seed of `--shuffle`, or an empty string without the option. */
function seedOf(args) {
  const match = args.map((arg) => SHUFFLE.exec(arg)).find((found) => found !== null);
  return match === undefined ? '' : (match[1] ?? String(randomInt(1_000_000)));
}
