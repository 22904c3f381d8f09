import { writeFile } from 'node:fs/promises';
import type { Teardown } from '@tocsin/bench/lab/teardown';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { ensureRedisForTests } from '@tocsin/embedded/test-run/ensure-redis';
import { ensureLibfaketime } from './lab/libfaketime.ts';
import { parseCommandLine, UsageError, type CommandLine } from './options.ts';
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
  --print-schedule   shows the faults of each seed and does nothing`;

/**
 * `npm run test:faults`: whether Tocsin loses or leaks anything under faults (docs/reliability.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  const teardowns: Teardown[] = [];
  const stopped = stopOnSignals(teardowns);
  try {
    await run(parseCommandLine(args), teardowns);
  } catch (error) {
    if (stopped.requested) return;
    process.stderr.write(`${describe(error)}\n`);
    process.exitCode = 1;
    await Promise.all(teardowns.map((teardown) => teardown.run()));
  }
  process.exit();
}

async function run(commandLine: CommandLine, teardowns: Teardown[]): Promise<void> {
  const { seeds, minutes, parallel, json } = commandLine;
  if (commandLine.help) return say(HELP);
  if (commandLine.printSchedule) {
    for (const seed of seeds) say(`Seed ${seed}\n${describeSchedule(planCampaign(seed, minutes).faults)}`);
    return;
  }
  if (process.platform !== 'linux') throw new UsageError('Loopback addresses and clocks: this needs Linux');
  ensureRedisForTests(say);
  const libfaketime = ensureLibfaketime(say);
  const results = await runSeeds({
    seeds,
    minutes,
    parallel,
    libfaketime,
    teardowns,
    say,
    onResult: async (done) => {
      if (json !== null) await writeFile(json, `${JSON.stringify(done, null, 2)}\n`);
    },
  });
  if (seeds.length > 1) say(tableOf(results.map(({ figures }) => figures)));
  if (results.some(({ violations }) => violations.length > 0)) process.exitCode = 1;
}

/** What people can mend is one line; what is our mistake has a stack. */
function describe(error: unknown): string {
  if (error instanceof UsageError || error instanceof EmbeddedError) return error.message;
  return error instanceof Error && error.stack !== undefined ? error.stack : String(error);
}

/** Whatever is under way fails when its servers go; nobody has to read that. */
function stopOnSignals(teardowns: readonly Teardown[]): { readonly requested: boolean } {
  const stop = { requested: false };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stop.requested) return;
      stop.requested = true;
      say('\nStopping …');
      void endAll(teardowns, 130);
    });
  }
  process.on('uncaughtException', (problem) => {
    process.stderr.write(`${describe(problem)}\n`);
    void endAll(teardowns, 1);
  });
  return stop;
}

async function endAll(teardowns: readonly Teardown[], exitCode: number): Promise<never> {
  await Promise.all(teardowns.map((teardown) => teardown.run()));
  process.exit(exitCode);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
