import { createHash } from 'node:crypto';
import { secretVariable } from '@tocsin/contracts/words';
import { CliError } from '../terminal/cli-error.ts';
import { escapePlaceholders } from './interpolate.ts';

/** Of the hexadecimal SHA-256 of what a value belongs to: 64 bits, so that nobody can search a monitor that gets a given variable. */
const DIGITS = 16;

/** Values that are kept out of the file of a source: variables of the environment stand for them. */
export class HiddenValues {
  /** The values by variable. */
  readonly variables = new Map<string, string>();
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  /**
   * Hides a value. Call it once for each field.
   * @param path the field that holds the value, such as `['headers', 'Authorization']`
   * @returns what stands in the file
   * @throws CliError if another field has the variable
   */
  hide(monitorKey: string, path: readonly [string, ...string[]], value: string): string {
    // It tells nothing, and a variable must not be empty.
    if (value === '') return value;
    const id = JSON.stringify([this.#source, monitorKey, ...path]);
    const digits = createHash('sha256').update(id).digest('hex').slice(0, DIGITS);
    const variable = secretVariable(`${monitorKey}_${path.at(-1)}`, digits);
    if (this.variables.has(variable))
      throw new CliError(
        `The variable ${variable} already stands for another value, so it cannot stand for ${path.join('.')} of monitor ${monitorKey}. Change the externalId of one monitor, or pass --secrets.`,
      );
    this.variables.set(variable, value);
    return `\${${variable}}`;
  }
}

/** Headers whose values are no secrets. */
const OPEN = new Set(['accept', 'accept-language', 'cache-control', 'content-type', 'user-agent']);

/** Header fields with their values out of sight. @param staysAsItIs of values that hold variables already */
export function hideHeaders(
  monitorKey: string,
  headers: Readonly<Record<string, string>>,
  hidden: HiddenValues,
  staysAsItIs: (value: string) => boolean,
): Readonly<Record<string, string>> {
  const shown = Object.entries(headers).map(([name, value]): [string, string] => {
    if (staysAsItIs(value)) return [name, value];
    if (OPEN.has(name.toLowerCase())) return [name, escapePlaceholders(value)];
    return [name, hidden.hide(monitorKey, ['headers', name], value)];
  });
  return Object.fromEntries(shown);
}
