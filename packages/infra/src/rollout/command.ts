import { writeFile } from 'node:fs/promises';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import { openFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { problemsOf, type Findings } from './findings.ts';
import type { LoadOptions } from './load.ts';

type OptionTypes = NonNullable<ParseArgsConfig['options']>;
type Values<Options extends OptionTypes> = ReturnType<typeof parseArgs<{ options: Options }>>['values'];

/** The platform that a test needs is missing. The message says how to get it. */
export class UnavailableError extends Error {}

/** The limit of one request that applies a set of monitors. */
const MAX_MONITORS = 10_000;
const UNAVAILABLE = 2;

export const LOAD_OPTIONS = {
  rate: { type: 'string', default: '500' },
  interval: { type: 'string', default: '20' },
} as const;
const COMMON_OPTIONS = { ...LOAD_OPTIONS, help: { type: 'boolean' }, json: { type: 'string' } } as const;

export const COMMON_HELP = `  --rate NUMBER       checks per second (default 500)
  --interval NUMBER   of each monitor, in seconds (default 20)
  --json FILE         writes the results to a file`;

export interface Rollout {
  readonly load: LoadOptions;
  readonly results: Results;
  /** Temporary. */
  readonly folder: string;
  readonly teardown: Teardown;
}

/**
 * Runs a test of a rollout and exits the process: with 1 if the results have problems, and with 2 if the platform is missing.
 * @param options beside those that all rollouts have
 */
export async function runRollout<Options extends OptionTypes>(
  args: readonly string[],
  help: string,
  options: Options,
  test: (values: Values<Options>, rollout: Rollout) => Promise<void>,
): Promise<void> {
  await runOrExplain(async (teardown) => {
    const values = parseCommandLine(args, { ...COMMON_OPTIONS, ...options });
    const common = values as Values<typeof COMMON_OPTIONS>;
    if (common.help === true) {
      say(help);
      return 0;
    }
    const load = parseLoadOptions(common);
    const results = new Results();
    // Opened first: its sweeper ends everything that starts later, however this program ends.
    const folder = await openFolder('rollout', teardown);
    await test(values, { load, results, folder, teardown });
    say(`\n${results.toString()}`);
    if (common.json !== undefined) await writeFile(common.json, `${JSON.stringify(results, null, 2)}\n`);
    return results.problems.length === 0 ? 0 : 1;
  });
}

/** `runProgram` that exits with 2 for an `UnavailableError`. */
export async function runOrExplain(work: (teardown: Teardown) => Promise<number>): Promise<void> {
  await runProgram((teardown) =>
    work(teardown).catch((error: unknown) => {
      if (!(error instanceof UnavailableError)) throw error;
      say(error.message);
      return UNAVAILABLE;
    }),
  );
}

/** @throws UsageError */
export function parseCommandLine<Options extends OptionTypes>(
  args: readonly string[],
  options: Options,
): Values<Options> {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** @throws UsageError */
export function parseLoadOptions(values: { readonly rate: string; readonly interval: string }): LoadOptions {
  const [rate, interval] = [Number(values.rate), Number(values.interval)];
  if (!Number.isInteger(rate) || rate < 10) throw new UsageError('--rate takes a whole number from 10');
  if (!Number.isInteger(interval) || interval < 5)
    throw new UsageError('--interval takes a whole number from 5');
  if (rate * interval > MAX_MONITORS)
    throw new UsageError(
      `--rate times --interval is ${rate * interval} monitors; at most ${MAX_MONITORS} are possible`,
    );
  return { rate, interval };
}

/** Rows of a table, and problems. Each problem fails the test. */
export class Results {
  readonly rows: [string, string][] = [];
  readonly problems: string[] = [];

  add(what: string, result: string): void {
    this.rows.push([what, result]);
  }

  /** @param maxMissedShare see `problemsOf` */
  addFindings(name: string, findings: Findings, maxMissedShare?: number): void {
    const { slots, missed, repeated, latestMs, falseDown, webhooks, repeatedWebhooks, lost } = findings;
    const rows: Record<string, string> = {
      'time under load, latest check': `${seconds(findings.seconds * 1_000)}, ${seconds(latestMs)}`,
      'check slots; missed; recorded twice; false DOWN': list(slots, missed, repeated, falseDown),
      'webhooks so far; repeated; lost': list(webhooks, repeatedWebhooks, lost),
    };
    for (const [what, result] of Object.entries(rows)) this.add(`${name}: ${what}`, result);
    this.problems.push(...problemsOf(findings, maxMissedShare).map((problem) => `${name}: ${problem}`));
  }

  /** A table in Markdown, and a line for each problem. */
  toString(): string {
    const rows = [['what', 'result'], ['---', '---'], ...this.rows].map(
      (cells) => `| ${cells.join(' | ')} |`,
    );
    return [...rows, ...this.problems.map((problem) => `PROBLEM: ${problem}`)].join('\n');
  }
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function list(...numbers: number[]): string {
  return numbers.map((number) => number.toLocaleString('en-US')).join('; ');
}
