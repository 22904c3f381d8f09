import { readFile } from 'node:fs/promises';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { runProgram } from '@tocsin/embedded/program/run-program';
import { useTestServers } from '@tocsin/embedded/testing/run-servers';
import { runCampaign, type CampaignOptions } from './campaign/run.ts';
import { Tally } from './campaign/tally.ts';
import { parseCommandLine } from './options.ts';
import { openSystem } from './world/system.ts';

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
