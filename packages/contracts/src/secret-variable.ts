import { asciiWords } from './ascii-words.ts';

const PREFIX = 'TOCSIN_SECRET_';
/** An externalId and the name of a header together are shorter. */
const MAX_CHARACTERS = 600;

/**
 * Names the environment variable that stands for a secret value of a monitor in a file or command. The fixed prefix keeps monitors from
 * choosing the name of another variable, such as `AWS_SECRET_ACCESS_KEY`, whose value would then be sent to their targets.
 * @param words what the value belongs to, such as the monitor and the header
 * @param taken the names that are in use
 */
export function secretVariable(words: string, taken: { has(name: string): boolean }): string {
  const name = PREFIX + asciiWords(words, '_', MAX_CHARACTERS).toUpperCase();
  let variable = name;
  for (let count = 2; taken.has(variable); count += 1) variable = `${name}_${count}`;
  return variable;
}
