import { readFile } from 'node:fs/promises';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { runTestServers } from '@tocsin/embedded/testing/run-servers';
import { runCampaign, type CampaignOptions } from './campaign/run.ts';
import { Tally } from './campaign/tally.ts';
import { parseCommandLine, UsageError } from './options.ts';
import { openSystem } from './world/system.ts';

const SAY_EVERY_MS = 60_000;

/**
 * `npm run test:fuzz`: what the api does with whatever it is asked (docs/reliability.md).
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  try {
    const options = parseCommandLine(args);
    if (typeof options === 'string') say(options);
    else process.exitCode = (await run(options)) ? 0 : 1;
  } catch (error) {
    const isPlain = error instanceof UsageError || error instanceof EmbeddedError;
    process.stderr.write(`${isPlain ? error.message : String((error as Error).stack ?? error)}\n`);
    process.exitCode = 1;
  }
  process.exit();
}

/** @returns whether all was well */
async function run(options: CampaignOptions): Promise<boolean> {
  const servers = await runTestServers();
  process.env['TEST_DATABASE_URL'] = servers.databaseUrl;
  process.env['TEST_REDIS_URL'] = servers.redisUrl;
  process.env['TEST_FOLDER'] = servers.folder;
  try {
    const system = await openSystem();
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
    await system.close();
    return findings.length === 0;
  } finally {
    await servers.stop();
  }
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
