import { parseArgs } from 'node:util';
import { UsageError } from '@tocsin/embedded/program/run-program';

const MOST_MINUTES = 60;
const MOST_PARALLEL = 8;

/** The command line of fault campaigns. */
export interface CommandLine {
  readonly help: boolean;
  readonly seeds: readonly number[];
  readonly minutes: number;
  /** Campaigns at the same time. */
  readonly parallel: number;
  /** Where to write the results as JSON; null for nowhere. */
  readonly json: string | null;
  /** Keeps logs and records of campaigns without violations too. */
  readonly keep: boolean;
  /** Shows what would be done, and does nothing. */
  readonly printSchedule: boolean;
}

/** @throws UsageError */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const values = parse(args);
  if (values.seed !== undefined && values.seeds !== undefined)
    throw new UsageError('Either --seed or --seeds');
  return {
    help: values.help === true,
    seeds:
      values.seeds === undefined ? [toNumber('seed', values.seed ?? '1', 2 ** 31)] : toRange(values.seeds),
    minutes: toNumber('minutes', values.minutes ?? '3', MOST_MINUTES),
    parallel: toNumber('parallel', values.parallel ?? '1', MOST_PARALLEL),
    json: values.json ?? null,
    keep: values.keep === true,
    printSchedule: values['print-schedule'] === true,
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: args.filter((arg) => arg !== '--'),
      options: {
        seed: text,
        seeds: text,
        minutes: text,
        parallel: text,
        json: text,
        keep: flag,
        'print-schedule': flag,
        help: { ...flag, short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function toNumber(name: string, text: string, most: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw new UsageError(`--${name} must be a whole number from 1 to ${most}, not "${text}"`);
}

function toRange(text: string): number[] {
  const [, from, to] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (!(first >= 1 && last >= first && last - first < 1_000))
    throw new UsageError(`--seeds must be a range as 1-30, not "${text}"`);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
