import { writeFile } from 'node:fs/promises';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { openFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { say } from '../command.ts';
import { number, text, type ValuesOf } from '../options.ts';
import { problemsOf, type Findings } from './findings.ts';
import type { LoadOptions } from './load.ts';

/** The platform that a test needs is missing. The message explains how to get it. */
export class UnavailableError extends Error {}

/** The limit of one request that applies a set of monitors. */
const MAX_MONITORS = 10_000;
const UNAVAILABLE = 2;

export const LOAD_OPTIONS = {
  rate: number('checks per second', 500, { min: 10 }),
  interval: number('check interval in seconds', 20, { min: 5 }),
  json: text('writes the results to a file', 'FILE'),
};

export interface Rollout {
  readonly results: Results;
  readonly folder: string;
  readonly teardown: Teardown;
}

/** Wraps a test of a rollout as a command that exits with 1 if the results have problems, and with 2 if the platform is missing. */
export function rollout<Values extends ValuesOf<typeof LOAD_OPTIONS>>(
  test: (values: Values, rollout: Rollout) => Promise<void>,
): (values: Values, teardown: Teardown) => Promise<number> {
  return orUnavailable(async (values, teardown) => {
    checkLoad(values);
    const results = new Results();
    // Opened first, because its sweeper ends everything that starts later, however this program ends.
    const folder = await openFolder('rollout', teardown);
    await test(values, { results, folder, teardown });
    say(`\n${results.toString()}`);
    if (values.json !== null) await writeFile(values.json, `${JSON.stringify(results, null, 2)}\n`);
    return results.problems.length === 0 ? 0 : 1;
  });
}

function checkLoad({ rate, interval }: LoadOptions): void {
  const monitors = rate * interval;
  if (monitors > MAX_MONITORS)
    throw new UsageError(
      `--rate times --interval is ${monitors} monitors; at most ${MAX_MONITORS} are possible`,
    );
}

/** Turns an `UnavailableError` of a command into exit code 2. */
function orUnavailable<Values>(run: (values: Values, teardown: Teardown) => Promise<number>): typeof run {
  return (values, teardown) =>
    run(values, teardown).catch((error: unknown) => {
      if (!(error instanceof UnavailableError)) throw error;
      say(error.message);
      return UNAVAILABLE;
    });
}

/** Rows of a table, and problems. Each problem fails the test. */
export class Results {
  readonly rows: [string, string][] = [];
  readonly problems: string[] = [];

  add(measurement: string, result: string): void {
    this.rows.push([measurement, result]);
  }

  /** @param since value of `performance.now()` */
  addTime(measurement: string, since: number): void {
    this.add(measurement, seconds(performance.now() - since));
  }

  /** @param maxMissedShare see `problemsOf` */
  addFindings(name: string, findings: Findings, maxMissedShare?: number): void {
    const { slots, missed, repeated, latestMs, falseDown, webhooks, repeatedWebhooks, lost } = findings;
    const time = `${seconds(findings.seconds * 1_000)}, ${seconds(latestMs ?? 0)}`;
    this.add(`${name}: time under load, latest check`, time);
    this.add(
      `${name}: check slots; missed; recorded twice; false DOWN`,
      list(slots, missed, repeated, falseDown),
    );
    this.add(`${name}: webhooks so far; repeated; lost`, list(webhooks, repeatedWebhooks, lost));
    this.problems.push(...problemsOf(findings, maxMissedShare).map((problem) => `${name}: ${problem}`));
  }

  toString(): string {
    const table = markdownTable([['measurement', 'result'], ...this.rows]);
    return [table, ...this.problems.map((problem) => `PROBLEM: ${problem}`)].join('\n');
  }
}

function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function list(...numbers: number[]): string {
  return numbers.map((number) => number.toLocaleString('en-US')).join('; ');
}
