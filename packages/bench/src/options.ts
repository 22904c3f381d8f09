import { parseArgs } from 'node:util';
import type { ServiceName } from '@tocsin/lab/service-process';
import { UsageError } from '@tocsin/embedded/program/run-program';

/** What may be set for a run; undefined: what the scenario says. */
export interface Options {
  readonly rate?: number | undefined;
  readonly interval?: number | undefined;
  readonly monitors?: number | undefined;
  readonly checkers?: number | undefined;
  readonly seconds?: number | undefined;
  readonly events?: number | undefined;
  readonly protocol?: 'http' | 'https' | undefined;
  readonly queue?: 'redis' | 'postgres' | undefined;
}

/** The command line of a run. */
export interface CommandLine {
  /** Null: help is wanted. */
  readonly scenario: string | null;
  readonly options: Options;
  /** Where to write the figures as JSON; null for nowhere. */
  readonly json: string | null;
  readonly profile: ServiceName | null;
}

const NUMBERS = ['rate', 'interval', 'monitors', 'checkers', 'seconds', 'events'] as const;
const SERVICES = ['api', 'checker', 'notifier'] as const;

/** @throws UsageError */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const { values, positionals } = parse(args);
  const [scenario, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`One scenario at a time, not also ${more.join(', ')}`);
  const numbers = NUMBERS.map((name) => [name, toNumber(name, values[name])] as const);
  return {
    scenario: values.help === true ? null : (scenario ?? null),
    options: {
      ...Object.fromEntries(numbers),
      protocol: oneOf('protocol', ['http', 'https'], values.protocol),
      queue: oneOf('queue', ['redis', 'postgres'], values.queue),
    },
    json: values.json ?? null,
    profile: oneOf('profile', SERVICES, values.profile) ?? null,
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      // A bare --profile is the checker's.
      args: args
        .filter((arg) => arg !== '--')
        .map((arg) => (arg === '--profile' ? '--profile=checker' : arg)),
      allowPositionals: true,
      options: {
        rate: text,
        interval: text,
        monitors: text,
        checkers: text,
        seconds: text,
        events: text,
        protocol: text,
        queue: text,
        json: text,
        profile: text,
        help: { type: 'boolean', short: 'h' },
      },
    });
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

function oneOf<Value extends string>(
  name: string,
  values: readonly Value[],
  text: string | undefined,
): Value | undefined {
  if (text === undefined) return undefined;
  const value = values.find((known) => known === text);
  if (value !== undefined) return value;
  throw new UsageError(`--${name} must be one of ${values.join(', ')}, not "${text}"`);
}
