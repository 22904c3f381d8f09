import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { useTestServers } from '@tocsin/embedded/testing/run-servers';
import { runCampaign, type CampaignOptions } from './campaign/run.ts';
import { Tally } from './campaign/tally.ts';
import { openSystem } from './system/system.ts';

const REPORT_EVERY_MS = 60_000;

const HELP = `npm run test:fuzz -- [--requests 100000] [--seed 1] [--lanes 3] [--seconds 3600] [--all | --path …]

Sends an api process requests that its contracts allow, and requests that they forbid (docs/reliability.md).

--requests  how many requests
--seconds   when to end, however many requests were sent
--seed      the same seed sends the same requests; random by default
--lanes     how many accounts send requests at the same time
--all       continues after a failure, and shrinks none
--path      one run alone, as the report of a failure names it`;

/**
 * `npm run test:fuzz`.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const options = parseCommandLine(args);
    if (options !== null) return run(options, teardown);
    say(HELP);
    return 0;
  });
}

/** Null for `--help`. @throws UsageError */
export function parseCommandLine(args: readonly string[]): CampaignOptions | null {
  const values = parse(args);
  if (values.help === true) return null;
  return {
    requests: toNumber('requests', values.requests),
    seconds: toNumber('seconds', values.seconds),
    seed: toNumber('seed', values.seed ?? String(1 + Math.floor(Math.random() * 1_000_000))),
    lanes: toNumber('lanes', values.lanes),
    path: values.path ?? null,
    all: values.all === true,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: args.filter((arg) => arg !== '--'),
      options: {
        requests: { type: 'string', default: '100000' },
        // A day: usually the number of requests ends the campaign.
        seconds: { type: 'string', default: '86400' },
        seed: { type: 'string' },
        lanes: { type: 'string', default: '3' },
        path: { type: 'string' },
        all: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function toNumber(name: string, text: string): number {
  const value = Number(text.replaceAll('_', ''));
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new UsageError(`--${name} must be a whole number from 1, not "${text}"`);
}

/** @returns the exit code */
async function run(options: CampaignOptions, teardown: Teardown): Promise<number> {
  await useTestServers(teardown);
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

/** 0 after the process has ended. */
async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
