import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EmbeddedError } from '../embedded-error.ts';
import { onAbandoned } from '../program/on-abandoned.ts';
import { ensureChromium, ensureRedisForTests } from './programs.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

const SHUFFLE = /^--shuffle(?:=(\d+))?$/;

/**
 * `npm test`: runs jest with these arguments and exits with its exit code. `--shuffle` runs the test files in random order,
 * `--shuffle=SEED` in the order of an earlier run.
 * @public called by `bootstrap.js`
 */
export async function main(allArgs: readonly string[]): Promise<void> {
  const args = allArgs.filter((arg) => !SHUFFLE.test(arg));
  const shuffleSeed = seedOf(allArgs);
  if (shuffleSeed !== null) say(`Test files run in random order. To repeat it: --shuffle=${shuffleSeed}`);
  try {
    ensureRedisForTests(say);
    if (runsBrowserTests(args)) ensureChromium(say);
  } catch (error) {
    if (!(error instanceof EmbeddedError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
  const jest = createRequire(join(ROOT, 'package.json')).resolve('jest/bin/jest');
  // jest loads ES modules through Node's experimental API. Workers of jest inherit the environment.
  const nodeOptions = [
    process.env['NODE_OPTIONS'],
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
  ];
  const child = spawn(process.execPath, [jest, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_OPTIONS: nodeOptions.filter(Boolean).join(' '),
      TEST_SHUFFLE_SEED: shuffleSeed ?? '',
    },
  });
  // Ctrl-C reaches both processes. This one exits with jest's exit code.
  process.on('SIGINT', () => {});
  const stop = (): void => void child.kill('SIGTERM');
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  onAbandoned(stop, { parent: true });
  const [code, signal] = await once(child, 'exit');
  process.exitCode = typeof code === 'number' ? code : 128 + signalNumber(signal);
}

/** The seed of `--shuffle`; null without it. */
function seedOf(args: readonly string[]): string | null {
  const match = args.map((arg) => SHUFFLE.exec(arg)).find((found) => found !== null);
  return match === undefined || match === null ? null : (match[1] ?? String(randomInt(1_000_000)));
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Chromium is large, so runs without browser tests do not need it. */
function runsBrowserTests(args: readonly string[]): boolean {
  return args.every((arg) => arg.startsWith('-')) || args.some((arg) => arg.includes('browser'));
}

function signalNumber(signal: unknown): number {
  return new Map<unknown, number>(Object.entries(constants.signals)).get(signal) ?? 1;
}
