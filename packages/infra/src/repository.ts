import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The root of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The text of a file, by its path from the root of the repository. */
export function readRepositoryFile(path: string): Promise<string> {
  return readFile(ROOT + path, 'utf8');
}
