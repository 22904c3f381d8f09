import { writeFile } from 'node:fs/promises';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { openFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { runCommand, say, type Command } from '@tocsin/lab/command';
import { number, text, type Options, type ValuesOf } from '@tocsin/lab/options';
import { problemsOf, type Findings } from './findings.ts';
import type { LoadOptions } from './load.ts';

/** The platform that a test needs is missing. The message explains how to get it. */
export class UnavailableError extends Error {}

/** The limit of one request that applies a set of monitors. */
const MAX_MONITORS = 10_000;
const UNAVAILABLE = 2;

const COMMON_OPTIONS = {
  rate: number('checks per second', 500, { min: 10 }),
  interval: number('of each monitor, in seconds', 20, { min: 5 }),
  json: text('writes the results to a file', 'FILE'),
};

export interface Rollout {
  readonly load: LoadOptions;
  readonly results: Results;
  /** Temporary. */
  readonly folder: string;
  readonly teardown: Teardown;
}

/**
 * Runs a test of a rollout and exits the process: with 1 if the results have problems, and with 2 if the platform is missing.
 * @param command with the options beside those of all rollouts
 */
export function runRollout<Known extends Options>(
  args: readonly string[],
  command: Omit<Command<Known>, 'run'>,
  test: (values: ValuesOf<Known>, rollout: Rollout) => Promise<void>,
): Promise<void> {
  const options: typeof COMMON_OPTIONS & Known = { ...COMMON_OPTIONS, ...command.options };
  const run = async (
    values: ValuesOf<typeof COMMON_OPTIONS & Known>,
    teardown: Teardown,
  ): Promise<number> => {
    const load = checkLoad(values);
    const results = new Results();
    // Opened first: its sweeper ends everything that starts later, however this program ends.
    const folder = await openFolder('rollout', teardown);
    await test(values, { load, results, folder, teardown });
    say(`\n${results.toString()}`);
    if (values.json !== null) await writeFile(values.json, `${JSON.stringify(results, null, 2)}\n`);
    return results.problems.length === 0 ? 0 : 1;
  };
  return runCommand(args, { ...command, options, run: orUnavailable(run) });
}

/** @throws UsageError */
export function checkLoad({ rate, interval }: LoadOptions): LoadOptions {
  const monitors = rate * interval;
  if (monitors > MAX_MONITORS)
    throw new UsageError(
      `--rate times --interval is ${monitors} monitors; at most ${MAX_MONITORS} are possible`,
    );
  return { rate, interval };
}

/** Turns an `UnavailableError` into exit code 2. */
export function orUnavailable<Args extends unknown[]>(
  run: (...args: Args) => Promise<number>,
): (...args: Args) => Promise<number> {
  return (...args) =>
    run(...args).catch((error: unknown) => {
      if (!(error instanceof UnavailableError)) throw error;
      say(error.message);
      return UNAVAILABLE;
    });
}

/** Rows of a table, and problems. Each problem fails the test. */
export class Results {
  readonly rows: [string, string][] = [];
  readonly problems: string[] = [];

  add(what: string, result: string): void {
    this.rows.push([what, result]);
  }

  /** Adds the time since a moment of `performance.now()`. */
  addTime(what: string, since: number): void {
    this.add(what, seconds(performance.now() - since));
  }

  /** @param maxMissedShare see `problemsOf` */
  addFindings(name: string, findings: Findings, maxMissedShare?: number): void {
    const { slots, missed, repeated, latestMs, falseDown, webhooks, repeatedWebhooks, lost } = findings;
    const time = `${seconds(findings.seconds * 1_000)}, ${seconds(latestMs)}`;
    this.add(`${name}: time under load, latest check`, time);
    this.add(
      `${name}: check slots; missed; recorded twice; false DOWN`,
      list(slots, missed, repeated, falseDown),
    );
    this.add(`${name}: webhooks so far; repeated; lost`, list(webhooks, repeatedWebhooks, lost));
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

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function list(...numbers: number[]): string {
  return numbers.map((number) => number.toLocaleString('en-US')).join('; ');
}
