import { asciiWords } from '@tocsin/contracts/ascii-words';
import { escapePlaceholders } from './interpolate.ts';

/** An externalId and the name of a header are no longer. */
const MOST_CHARACTERS = 600;

/** Values that are kept out of a file: variables of the environment stand for them. */
export class HiddenValues {
  /** The values by variable. */
  readonly variables = new Map<string, string>();

  /** @param words what the variable is named by. @returns what stands in the file */
  hide(words: string, value: string): string {
    // It tells nothing, and a variable must not be empty.
    if (value === '') return value;
    const variable = this.#nameFor(words);
    this.variables.set(variable, value);
    return `\${${variable}}`;
  }

  #nameFor(text: string): string {
    const words = asciiWords(text, '_', MOST_CHARACTERS).toUpperCase();
    const name = /^[A-Z]/.test(words) ? words : `_${words}`;
    let variable = name;
    for (let count = 2; this.variables.has(variable); count += 1) variable = `${name}_${count}`;
    return variable;
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
