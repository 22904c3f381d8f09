import { writeFile } from 'node:fs/promises';
import { runProgram, UsageError } from '@tocsin/embedded/program/run-program';
import { openFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { helpText, number, parseOptions, refusePositionals, text, type Option } from '@tocsin/lab/options';
import { problemsOf, type Findings } from './findings.ts';
import type { LoadOptions } from './load.ts';

type Options = Readonly<Record<string, Option<unknown>>>;
type ValuesOf<Known extends Options> = ReturnType<typeof parseOptions<Known>>['values'];

/** The platform that a test needs is missing. The message says how to get it. */
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
 * @param own options beside those of all rollouts
 */
export async function runRollout<Known extends Options>(
  args: readonly string[],
  { usage, about, own }: { readonly usage: string; readonly about: string; readonly own: Known },
  test: (values: ValuesOf<Known>, rollout: Rollout) => Promise<void>,
): Promise<void> {
  const options = { ...COMMON_OPTIONS, ...own };
  await runOrExplain(async (teardown) => {
    const { help, values, positionals } = parseOptions(args, options);
    refusePositionals(positionals);
    if (help) {
      say(helpText(`${usage} --`, about, options));
      return 0;
    }
    const { rate, interval, json } = values as ValuesOf<typeof COMMON_OPTIONS>;
    checkLoad({ rate, interval });
    const results = new Results();
    // Opened first: its sweeper ends everything that starts later, however this program ends.
    const folder = await openFolder('rollout', teardown);
    await test(values, { load: { rate, interval }, results, folder, teardown });
    say(`\n${results.toString()}`);
    if (json !== null) await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
    return results.problems.length === 0 ? 0 : 1;
  });
}

/** @throws UsageError */
export function checkLoad({ rate, interval }: LoadOptions): void {
  const monitors = rate * interval;
  if (monitors > MAX_MONITORS)
    throw new UsageError(
      `--rate times --interval is ${monitors} monitors; at most ${MAX_MONITORS} are possible`,
    );
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
