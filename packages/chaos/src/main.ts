import { writeFile } from 'node:fs/promises';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { ensureRedisForTests } from '@tocsin/embedded/test-run/programs';
import { ensureLibfaketime } from './lab/libfaketime.ts';
import { type CommandLine, parseCommandLine } from './options.ts';
import { describeSchedule, tableOf } from './report/describe-campaign.ts';
import { planCampaign } from './run/run-campaign.ts';
import { runSeeds } from './run/run-seeds.ts';

const HELP = `npm run test:faults -- [options]

A system of its own under a seeded schedule of faults, and whether it lost or leaked anything (docs/reliability.md).

  --seed N           which schedule; 1 by default
  --seeds N-M        one campaign for each of these seeds, and a table of them in Markdown
  --parallel N       campaigns at the same time
  --minutes N        how long a campaign is; 3 by default
  --json FILE        writes the results
  --keep             keeps the logs and the record of each campaign; without it only of those with violations
  --print-schedule   shows the faults of each seed and does nothing`;

/**
 * `npm run test:faults`: whether Tocsin loses or leaks anything under faults (docs/reliability.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram((teardown) => run(parseCommandLine(args), teardown));
}

/** @returns the exit code */
async function run(commandLine: CommandLine, teardown: Teardown): Promise<number> {
  const { seeds, minutes, parallel, json, keep } = commandLine;
  if (commandLine.help) {
    say(HELP);
    return 0;
  }
  if (commandLine.printSchedule) {
    for (const seed of seeds) say(`Seed ${seed}\n${describeSchedule(planCampaign(seed, minutes).faults)}`);
    return 0;
  }
  if (process.platform !== 'linux') throw new UsageError('Loopback addresses and clocks: this needs Linux');
  ensureRedisForTests(say);
  const libfaketime = ensureLibfaketime(say);
  const results = await runSeeds({
    seeds,
    minutes,
    parallel,
    keep,
    libfaketime,
    teardown,
    say,
    onResult: async (done) => {
      if (json !== null) await writeFile(json, `${JSON.stringify(done, null, 2)}\n`);
    },
  });
  if (seeds.length > 1) say(tableOf(results.map(({ figures }) => figures)));
  return results.some(({ violations }) => violations.length > 0) ? 1 : 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
