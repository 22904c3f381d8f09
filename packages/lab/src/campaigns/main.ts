import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { say } from '../command.ts';
import { alignRows } from '../options.ts';
import { CAMPAIGNS, type Campaign } from './campaigns.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const LOGS = join(ROOT, '.test-data/campaigns');
const DAY_MS = 86_400_000;
const SHOWN_LINES = 40;
/** Exit code of a campaign that this machine does not permit. */
const EXIT_NOT_PERMITTED = 2;

const HELP = `npm run test:campaigns [-- NAME…]         all campaigns, or these
npm run test:campaigns -- NAME [options]  one campaign with its own options; --help shows them

${alignRows(CAMPAIGNS.map(({ name, about }) => [name, about]))}`;

interface Run {
  readonly campaign: Campaign;
  readonly args: readonly string[];
}

/**
 * Runs campaigns one at a time, prints a table of their verdicts, and keeps their output in `.test-data/campaigns`. Exits with 1 if any of
 * them failed.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const day = Math.floor(Date.now() / DAY_MS);
    const runs = selectRuns(args, day);
    if (runs === null) {
      say(HELP);
      return 0;
    }
    await mkdir(LOGS, { recursive: true });
    const rows: string[][] = [];
    for (const run of runs) rows.push(await report(run, teardown));
    say(`\n${alignRows(rows)}`);
    return rows.some(([, verdict]) => verdict === 'failed') ? 1 : 0;
  });
}

/** Returns the runs that a command line asks for, or null if it asks for the help. @throws UsageError */
export function selectRuns(args: readonly string[], day: number): readonly Run[] | null {
  const [first, ...others] = args;
  if (first === '--help' || first === '-h') return null;
  const runOf = (campaign: Campaign, given = campaign.args ?? []): Run => {
    const all = [...(campaign.mode ?? []), ...given];
    return { campaign, args: all.map((arg) => (arg === 'SEED' ? String(day) : arg)) };
  };
  if (first === undefined) return CAMPAIGNS.map((campaign) => runOf(campaign));
  if (others.some((arg) => arg.startsWith('-'))) return [runOf(find(first), others)];
  return args.map((name) => runOf(find(name)));
}

function find(name: string): Campaign {
  const campaign = CAMPAIGNS.find((each) => each.name === name);
  if (campaign !== undefined) return campaign;
  throw new UsageError(
    `There is no campaign "${name}". The campaigns are ${CAMPAIGNS.map((each) => each.name).join(', ')}.`,
  );
}

/** Runs a campaign. @returns its table row, with name, verdict, minutes and note */
async function report({ campaign, args }: Run, teardown: Teardown): Promise<string[]> {
  const { name, needs } = campaign;
  if (needs?.every((variable) => !process.env[variable]) === true)
    return [name, 'skipped', '', `Set ${needs.join(' or ')}.`];
  const log = join(LOGS, `${name}.log`);
  say(`${name} ${args.join(' ')}`.trimEnd());
  const before = performance.now();
  const code = await execute(campaign, args, log, teardown);
  const minutes = `${((performance.now() - before) / 60_000).toFixed(1)} min`;
  const output = (await readFile(log, 'utf8')).trimEnd().split('\n');
  if (code === EXIT_NOT_PERMITTED) return [name, 'skipped', minutes, output.at(-1) ?? ''];
  if (code !== 0) say(output.slice(-SHOWN_LINES).join('\n'));
  else for (const line of output.filter((text) => text.startsWith('|'))) say(line);
  return [name, code === 0 ? 'clean' : 'failed', minutes, `.test-data/campaigns/${name}.log`];
}

/** Returns the exit code, or null if a signal ended the campaign. */
async function execute(
  { file }: Campaign,
  args: readonly string[],
  log: string,
  teardown: Teardown,
): Promise<number | null> {
  const isProgram = file.endsWith('.js');
  const path = isProgram ? join(ROOT, 'packages', file) : join(ROOT, 'packages/embedded/jest/run-tests.js');
  const call = isProgram
    ? `main(${JSON.stringify(args)})`
    : `runTests(${JSON.stringify([`packages/${file}`, ...args])}, ${JSON.stringify(file.endsWith('.ts') ? 'campaign' : 'fast')})`;
  const source = `const program = await import(${JSON.stringify(pathToFileURL(path).href)}); await program.${call};`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PROPERTY_SEED: String(1 + Math.floor(Math.random() * 1_000_000)) },
  });
  const exit = once(child, 'exit') as Promise<[number | null]>;
  teardown.onStop(async () => {
    child.kill('SIGTERM');
    await exit;
  });
  const output = createWriteStream(log);
  child.stdout.pipe(output, { end: false });
  child.stderr.pipe(output, { end: false });
  const [code] = await exit;
  output.end();
  await once(output, 'close');
  return code;
}
