import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from '@tocsin/embedded/program/run-program';

export interface Option<Value> {
  readonly about: string;
  /** Represents the value in the help, such as `N`. Null for a flag. */
  readonly placeholder: string | null;
  readonly defaultValue: Value;
  readonly parse: (name: string, text: string) => Value;
}

export type Options = Readonly<Record<string, Option<unknown>>>;
export type ValuesOf<Known extends Options> = { readonly [Name in keyof Known]: Known[Name]['defaultValue'] };

interface NumberRange {
  readonly min: number;
  readonly max?: number;
  /** Allows fractions. */
  readonly fraction?: true;
}

/** A number whose digits `_` may separate. @param defaultValue null for none */
export function number<Default extends number | null>(
  about: string,
  defaultValue: Default,
  { min, max = Number.MAX_SAFE_INTEGER, fraction }: NumberRange,
): Option<number | Default> {
  return {
    about: defaultValue === null ? about : `${about}; ${defaultValue} by default`,
    placeholder: 'N',
    defaultValue,
    parse: (name, text) => {
      const value = Number(text.replaceAll('_', ''));
      const isNumber = fraction ? Number.isFinite(value) : Number.isSafeInteger(value);
      if (text !== '' && isNumber && value >= min && value <= max) return value;
      const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
      const kind = fraction ? 'number' : 'whole number';
      throw new UsageError(`--${name} must be a ${kind} ${range}, not "${text}"`);
    },
  };
}

export function oneOf<Value extends string>(about: string, values: readonly Value[]): Option<Value | null> {
  return {
    about,
    placeholder: values.join('|'),
    defaultValue: null,
    parse: (name, text) => {
      const value = values.find((known) => known === text);
      if (value !== undefined) return value;
      throw new UsageError(`--${name} must be one of ${values.join(', ')}, not "${text}"`);
    },
  };
}

export function text(about: string, placeholder: string): Option<string | null> {
  return { about, placeholder, defaultValue: null, parse: (_, value) => value };
}

export function flag(about: string): Option<boolean> {
  return { about, placeholder: null, defaultValue: false, parse: () => true };
}

/**
 * Reads a command line. `--help` or `-h` is an option of every command.
 * @throws UsageError
 */
export function parseOptions<Known extends Options>(
  args: readonly string[],
  known: Known,
): { readonly help: boolean; readonly values: ValuesOf<Known>; readonly positionals: readonly string[] } {
  const types = Object.entries(known).map(([name, { placeholder }]) => {
    return [name, { type: placeholder === null ? ('boolean' as const) : ('string' as const) }];
  });
  const options = { ...Object.fromEntries(types), help: { type: 'boolean' as const, short: 'h' } };
  const { values, positionals } = readArgs({
    args: args.filter((arg) => arg !== '--'),
    allowPositionals: true,
    options,
  });
  const parsed = Object.entries(known).map(([name, { defaultValue, parse }]) => {
    const value = values[name];
    return [name, value === undefined ? defaultValue : parse(name, String(value))];
  });
  return {
    help: values['help'] === true,
    values: Object.fromEntries(parsed) as ValuesOf<Known>,
    positionals,
  };
}

function readArgs(config: ParseArgsConfig): ReturnType<typeof parseArgs> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Returns the help of a command. */
export function helpText(usage: string, about: string, known: Options): string {
  const rows = Object.entries(known).map(([name, { about, placeholder }]) => [
    `--${name}${placeholder === null ? '' : ` ${placeholder}`}`,
    about,
  ]);
  return `npm run ${usage} [options]\n\n${about}\n\n${alignRows(rows)}`;
}

/** Formats rows as indented lines with aligned columns. */
export function alignRows(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (all, row) => row.map((cell, index) => Math.max(all[index] ?? 0, cell.length)),
    [],
  );
  return rows
    .map((row) => `  ${row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}
