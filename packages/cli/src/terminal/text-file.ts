import { access, readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CliError } from './cli-error.ts';
import type { Terminal } from './terminal.ts';

/** @throws CliError if the file cannot be read */
export async function readText(file: string, cwd: string): Promise<string> {
  return readFile(resolve(cwd, file), 'utf8').catch((error: unknown) => {
    throw new CliError(`Could not read ${file}.`, [], error);
  });
}

/** Checks before work that cannot be undone. @throws CliError if the file exists */
export async function requireNewFile(
  file: string | undefined,
  { cwd }: Pick<Terminal, 'cwd'>,
): Promise<void> {
  if (file === undefined) return;
  const exists = await access(resolve(cwd, file)).then(
    () => true,
    () => false,
  );
  if (exists) throw new CliError(`${file} already exists. Choose another file.`);
}

/** Prints a text, or writes it to a new file. @throws CliError if the file exists */
export async function writeOutput(
  text: string,
  file: string | undefined,
  { cwd, print, note }: Terminal,
): Promise<void> {
  if (file === undefined) return print(text.trimEnd());
  await writeFile(resolve(cwd, file), text, { flag: 'wx', mode: 0o600 }).catch(
    (error: NodeJS.ErrnoException) => {
      const exists = error.code === 'EEXIST';
      const message = exists ? `${file} already exists. Choose another file.` : `Could not write ${file}.`;
      throw new CliError(message, [], error);
    },
  );
  note(`Wrote ${file}.`);
}
