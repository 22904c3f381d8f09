import { parseCommandLine, UsageError } from './options.ts';

const HELP = `npm run test:faults -- [options]

A system of its own under a seeded schedule of faults, and what it did (docs/reliability.md).

  --seed N           which schedule; 1 by default
  --seeds N-M        one campaign for each of these seeds, and a table of them in Markdown
  --parallel N       campaigns at the same time
  --minutes N        how long faults go on, at most; 3 by default
  --json FILE        writes the results
  --print-schedule   shows the faults of the seed and does nothing`;

/**
 * `npm run test:faults`: whether Tocsin loses or leaks anything under faults (docs/reliability.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  try {
    if (parseCommandLine(args).help) process.stdout.write(`${HELP}\n`);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
