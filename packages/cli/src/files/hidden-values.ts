import { secretVariable } from '@tocsin/contracts/secret-variable';
import { escapePlaceholders } from './interpolate.ts';

/** Values that are kept out of a file: variables of the environment stand for them. */
export class HiddenValues {
  /** The values by variable. */
  readonly variables = new Map<string, string>();

  /** @param words what the variable is named by. @returns what stands in the file */
  hide(words: string, value: string): string {
    // It tells nothing, and a variable must not be empty.
    if (value === '') return value;
    const variable = secretVariable(words, this.variables);
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
    return [name, hidden.hide(`${monitorKey}_${name}`, value)];
  });
  return Object.fromEntries(shown);
}
