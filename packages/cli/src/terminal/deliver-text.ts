import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CliError } from './cli-error.ts';
import type { Terminal } from './terminal.ts';

/** Prints a text, or writes it to a new file. @throws CliError where the file is there already */
export async function deliverText(
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
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new CliError(
      isThere ? `${file} is there already: name another file.` : `${file} cannot be written.`,
      [],
      error,
    );
  }
  note(`Written to ${file}.`);
}
