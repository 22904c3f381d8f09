import { runProgram } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { useTestServers } from '@tocsin/embedded/testing/run-servers';
import { flag, helpText, number, parseOptions, refusePositionals, text } from '@tocsin/lab/options';
import { runCampaign, type CampaignOptions } from './campaign/run.ts';
import { Tally } from './campaign/tally.ts';
import { openSystem, residentMb } from './system/system.ts';

const REPORT_EVERY_MS = 60_000;

const ABOUT =
  'Sends an api process requests that its route table allows, and requests that it forbids (docs/reliability.md).';
const OPTIONS = {
  requests: number('how many requests', 100_000, { min: 1 }),
  seconds: number('when to end, even if requests are left', 86_400, { min: 1 }),
  seed: number('the same seed sends the same requests; random by default', null, { min: 1 }),
  lanes: number('how many accounts send requests at the same time', 3, { min: 1 }),
  path: text('repeats only the run that the report of a failure names', 'PATH'),
  all: flag('continues after a failure, and shrinks none'),
};

/**
 * `npm run test:campaigns -- fuzz`.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const { help, values, positionals } = parseOptions(args, OPTIONS);
    refusePositionals(positionals);
    const seed = values.seed ?? 1 + Math.floor(Math.random() * 1_000_000);
    if (!help) return run({ ...values, seed }, teardown);
    say(helpText('test:campaigns -- fuzz', ABOUT, OPTIONS));
    return 0;
  });
}

/** @returns the exit code */
async function run(options: CampaignOptions, teardown: Teardown): Promise<number> {
  await teardown.start(useTestServers(), (servers) => servers.stop());
  const system = await teardown.start(openSystem(), (one) => one.close());
  say(`seed ${options.seed}, ${options.requests} requests, ${options.lanes} accounts at once`);
  const startedAt = performance.now();
  const before = await residentMb(system.api.pid);
  const tally = new Tally();
  const describe = (): string => `${tally.requests} requests, ${tally.serverErrors} responses of 500 or more`;
  const progress = setInterval(() => say(`  ${describe()}`), REPORT_EVERY_MS);
  const failures = await runCampaign(system, tally, options);
  clearInterval(progress);
  const after = await residentMb(system.api.pid);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  say(
    `${tally.table()}\n\n${describe()}, in ${seconds} s, the slowest after ${Math.round(tally.slowestMs)} ms.`,
  );
  say(`Memory of the api: ${before} MB before, ${after} MB after.`);
  for (const failure of failures) say(`\n✗ ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
