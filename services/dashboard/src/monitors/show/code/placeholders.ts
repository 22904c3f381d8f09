import { asciiWords } from '@tocsin/contracts/ascii-words';
import type { Monitor } from '@tocsin/contracts/monitor';
import { secretVariable } from '@tocsin/contracts/secret-variable';

const MOST_CHARACTERS = 40;

/**
 * The names of environment variables that stand for the values of a monitor's headers, which may be secret: made of the monitor's name
 * and the header's, so that monitors in one file do not share them by chance, each different.
 * @returns by header
 */
export function headerVariables({ name, headers }: Pick<Monitor, 'name' | 'headers'>): Map<string, string> {
  const variables = new Map<string, string>();
  const taken = new Set<string>();
  for (const header of Object.keys(headers ?? {})) {
    const words = `${toWords(name) || 'monitor'}_${toWords(header) || 'header'}`;
    const variable = secretVariable(words, taken);
    taken.add(variable);
    variables.set(header, variable);
  }
  return variables;
}

function toWords(text: string): string {
  return asciiWords(text, '_', MOST_CHARACTERS);
}
