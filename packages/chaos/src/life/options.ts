import { parseArgs } from 'node:util';
import { UsageError } from '@tocsin/embedded/program/run-program';

/** An option of a program that takes a number. */
export interface NumberOption {
  readonly about: string;
  readonly usual: number;
  readonly least: number;
  readonly most: number;
  /** Whether it may have a fraction; default no. */
  readonly fraction?: boolean;
}

/** The command line of a program: numbers by name, and where to write the result. */
export interface CommandLine<Name extends string> {
  readonly help: boolean;
  readonly numbers: Readonly<Record<Name, number>>;
  /** Null for nowhere. */
  readonly json: string | null;
}

/** @throws UsageError */
export function parseCommandLine<Name extends string>(
  args: readonly string[],
  known: Readonly<Record<Name, NumberOption>>,
): CommandLine<Name> {
  const names = Object.keys(known) as Name[];
  const values = parse(args, names);
  const numbers = names.map((name) => [name, toNumber(name, known[name], values[name])] as const);
  return {
    help: values['help'] === true,
    numbers: Object.fromEntries(numbers) as Record<Name, number>,
    json: typeof values['json'] === 'string' ? values['json'] : null,
  };
}

function parse(
  args: readonly string[],
  names: readonly string[],
): Record<string, string | boolean | undefined> {
  const text = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      args: args.filter((arg) => arg !== '--'),
      options: {
        ...Object.fromEntries(names.map((name) => [name, text])),
        json: text,
        help: { type: 'boolean', short: 'h' },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function toNumber(name: string, option: NumberOption, text: string | boolean | undefined): number {
  if (typeof text !== 'string') return option.usual;
  const value = Number(text);
  const fits = option.fraction === true ? Number.isFinite(value) : Number.isSafeInteger(value);
  if (text !== '' && fits && value >= option.least && value <= option.most) return value;
  const kind = option.fraction === true ? 'number' : 'whole number';
  throw new UsageError(`--${name} must be a ${kind} from ${option.least} to ${option.most}, not "${text}"`);
}

/** The help of a program. */
export function helpText(
  program: string,
  about: string,
  known: Readonly<Record<string, NumberOption>>,
): string {
  const lines = Object.entries(known).map(
    ([name, { about, usual }]) => [`--${name} N`, `${about}; ${usual} by default`] as const,
  );
  const rows = [...lines, ['--json FILE', 'writes the result'] as const];
  const width = Math.max(...rows.map(([left]) => left.length));
  const text = rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
  return `npm run ${program} -- [options]\n\n${about}\n\n${text}`;
}
