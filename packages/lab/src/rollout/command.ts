import { writeFile } from 'node:fs/promises';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { openFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { say } from '../command.ts';
import { number, text, type ValuesOf } from '../options.ts';
import { repeatedReceipts } from '../oracle/deliveries.ts';
import { findViolations } from '../oracle/find-violations.ts';
import type { RolloutRecord } from '../oracle/record.ts';

/** Thrown if the platform that a test needs is missing. The message explains how to get it. */
export class UnavailableError extends Error {}

/** Maximum monitors in one request that applies a set. */
const MAX_MONITORS = 10_000;
const UNAVAILABLE = 2;
const SHOWN = 40;

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

/** Wraps a rollout test as a command. It exits with 1 if the test finds problems, and with 2 if the required platform is unavailable. */
export function rollout<Values extends ValuesOf<typeof LOAD_OPTIONS>>(
  test: (values: Values, rollout: Rollout) => Promise<void>,
): (values: Values, teardown: Teardown) => Promise<number> {
  return async (values, teardown) => {
    const monitors = values.rate * values.interval;
    if (monitors > MAX_MONITORS)
      throw new UsageError(
        `--rate times --interval is ${monitors} monitors; at most ${MAX_MONITORS} are possible`,
      );
    const results = new Results();
    // This is opened first, because its sweeper ends everything that starts later, however this program ends.
    const folder = await openFolder('rollout', teardown);
    try {
      await test(values, { results, folder, teardown });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      say(error.message);
      return UNAVAILABLE;
    }
    say(`\n${results.toString()}`);
    if (values.json !== null) await writeFile(values.json, `${JSON.stringify(results, null, 2)}\n`);
    return results.problems.length === 0 ? 0 : 1;
  };
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

  /** Evaluates a run. */
  addRecord(record: RolloutRecord): void {
    for (const { name, seconds: length, latestMs, planned, checked, events } of record.phases) {
      this.add(
        `${name}: time under load, latest check`,
        `${seconds(length * 1_000)}, ${seconds(latestMs ?? 0)}`,
      );
      this.add(
        `${name}: planned checks; missed; repeated`,
        list(planned, planned - checked, events - checked),
      );
    }
    this.add(
      'webhooks; received again',
      list(record.database.deliveries.length, repeatedReceipts(record).length),
    );
    const violations = findViolations(record);
    this.problems.push(
      ...violations.slice(0, SHOWN).map(({ invariant, detail }) => `${invariant}: ${detail}`),
    );
    if (violations.length > SHOWN) this.problems.push(`and ${violations.length - SHOWN} more violations`);
  }

  toString(): string {
    const rows = [['measurement', 'result'], ['---', '---'], ...this.rows];
    const table = rows.map((cells) => `| ${cells.join(' | ')} |`);
    return [...table, ...this.problems.map((problem) => `PROBLEM: ${problem}`)].join('\n');
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function list(...numbers: number[]): string {
  return numbers.map((number) => number.toLocaleString('en-US')).join('; ');
}
