import { access, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CliError } from './cli-error.ts';
import type { Terminal } from './terminal.ts';

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
  if (exists) throw existsError(file);
}

function existsError(file: string, cause?: unknown): CliError {
  return new CliError(`${file} already exists. Choose another file.`, [], cause);
}

/** Prints a text, or writes it to a new file. @throws CliError if the file exists */
export async function writeOutput(
  text: string,
  file: string | undefined,
  { cwd, print, note }: Terminal,
): Promise<void> {
  if (file === undefined) {
    print(text.trimEnd());
    return;
  }
  try {
    await writeFile(resolve(cwd, file), text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw existsError(file, error);
    throw new CliError(`Could not write ${file}.`, [], error);
  }
  note(`Wrote ${file}.`);
}
