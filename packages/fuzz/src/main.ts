import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { useTestServers } from '@tocsin/embedded/testing/run-servers';
import { type CampaignOptions, runCampaign, Tally } from './campaign/run.ts';
import { openSystem } from './system/system.ts';

const HELP = `npm run test:fuzz -- [--requests 100000] [--seed 1] [--lanes 3] [--seconds 3600] [--all | --path …]

Asks a real api process, on stores of its own, whatever its contracts allow and all that they do not.
--requests  how many requests
--seconds   after which it ends, however many were made
--seed      the same seed asks the same; by default another one each time
--lanes     accounts that are asked for at the same time
--all       goes on after a failure, and makes none smaller
--path      one run alone, as the message of a failure says`;

/** @returns a text where that is wanted. @throws UsageError */
export function parseCommandLine(args: readonly string[]): CampaignOptions | string {
  const values = parse(args);
  if (values.help === true) return HELP;
  return {
    requests: toNumber('requests', values.requests) ?? 100_000,
    // A day: it ends by the number of requests.
    seconds: toNumber('seconds', values.seconds) ?? 86_400,
    seed: toNumber('seed', values.seed) ?? Math.floor(Math.random() * 1_000_000),
    lanes: toNumber('lanes', values.lanes) ?? 3,
    path: values.path ?? null,
    all: values.all === true,
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: args.filter((arg) => arg !== '--'),
      options: {
        requests: text,
        seconds: text,
        seed: text,
        lanes: text,
        path: text,
        all: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function toNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text.replaceAll('_', ''));
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new UsageError(`--${name} must be a whole number from 1, not "${text}"`);
}

const SAY_EVERY_MS = 60_000;

/**
 * `npm run test:fuzz`: what the api does with whatever it is asked (docs/reliability.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const options = parseCommandLine(args);
    if (typeof options !== 'string') return run(options, teardown);
    say(options);
    return 0;
  });
}

/** @returns the exit code */
async function run(options: CampaignOptions, teardown: Teardown): Promise<number> {
  await useTestServers(teardown);
  const system = await teardown.start(openSystem(), (one) => one.close());
  const startedAt = performance.now();
  say(`seed ${options.seed}, ${options.requests} requests, ${options.lanes} accounts at once`);
  const before = await residentMb(system.api.pid);
  const tally = new Tally();
  const progress = setInterval(() => say(progressOf(tally)), SAY_EVERY_MS);
  const findings = await runCampaign(system, tally, options);
  clearInterval(progress);
  const after = await residentMb(system.api.pid);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  say(tally.table());
  say(
    `\n${tally.requests} requests in ${seconds} s, ${tally.countFrom(500)} answers of 500 or more, the slowest after ${Math.round(tally.slowestMs)} ms; the api's memory: ${before} MB before, ${after} MB after`,
  );
  for (const finding of findings) say(`\n✗ ${finding}`);
  return findings.length === 0 ? 0 : 1;
}

function progressOf(tally: Tally): string {
  return `  ${tally.requests} requests, ${tally.countFrom(500)} answers of 500 or more`;
}

/** Of a process that has ended: 0. */
async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
