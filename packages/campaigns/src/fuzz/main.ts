import type { Teardown } from '@tocsin/embedded/program/teardown';
import { useTestServers } from '@tocsin/embedded/testing/run-servers';
import { runCommand, say } from '@tocsin/lab/command';
import { number, text, type ValuesOf } from '@tocsin/lab/options';
import { openSystem, residentMb } from './fuzz-system.ts';
import { runCampaign } from './run.ts';
import { Tally } from './tally.ts';

const ABOUT =
  'Sends an api process requests that its route table allows, and requests that it forbids (docs/reliability.md).';
const OPTIONS = {
  requests: number('how many requests', 100_000, { min: 1 }),
  seconds: number('when to end, even if requests are left', 86_400, { min: 1 }),
  seed: number('the same seed sends the same requests; random by default', null, { min: 1 }),
  lanes: number('how many accounts send requests at the same time', 3, { min: 1 }),
  path: text('repeats only the run that the report of a failure names', 'PATH'),
};

/** Implements `npm run test:campaigns -- fuzz`. @public called by `bootstrap.js` */
export async function main(args: readonly string[]): Promise<void> {
  await runCommand(args, { name: 'test:campaigns -- fuzz', about: ABOUT, options: OPTIONS, run });
}

async function run(options: ValuesOf<typeof OPTIONS>, teardown: Teardown): Promise<number> {
  const seed = options.seed ?? 1 + Math.floor(Math.random() * 1_000_000);
  await teardown.start(useTestServers(), (servers) => servers.stop());
  const system = await teardown.start(openSystem(), (one) => one.close());
  say(`seed ${seed}, ${options.requests} requests, ${options.lanes} accounts at once`);
  const before = await residentMb(system.api.pid);
  const tally = new Tally();
  const failures = await runCampaign(system, tally, { ...options, seed });
  const after = await residentMb(system.api.pid);
  const { requests, serverErrors, slowestMs } = tally;
  say(`| ${requests} requests | ${serverErrors} with 5xx | slowest: ${Math.round(slowestMs)} ms |`);
  say(`Memory of the api: ${before} MB before, ${after} MB after.`);
  for (const failure of failures) say(`\n✗ ${failure}`);
  return failures.length === 0 ? 0 : 1;
}
