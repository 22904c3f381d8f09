import { asciiWords } from './ascii-words.ts';

const PREFIX = 'TOCSIN_SECRET_';
const MAX_CHARACTERS = 200;

/**
 * Names the environment variable that stands for a secret value of a monitor in a file or command. The fixed prefix keeps monitors from
 * choosing the name of another variable, such as `AWS_SECRET_ACCESS_KEY`, whose value would then be sent to their targets.
 * @param words what the value belongs to, such as the monitor and the header
 * @param digits hexadecimal, to distinguish values with the same words. They depend on this value's monitor and field alone, so that no
 * other monitor changes the name.
 */
export function secretVariable(words: string, digits: string): string {
  const name = [asciiWords(words, '_', MAX_CHARACTERS), digits].filter((part) => part !== '').join('_');
  return PREFIX + name.toUpperCase();
}
