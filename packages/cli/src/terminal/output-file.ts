import { access, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CliError } from './cli-error.ts';
import type { Terminal } from './terminal.ts';

/** For work that cannot be taken back, before it begins. @throws CliError where the file is there already */
export async function requireNewFile(
  file: string | undefined,
  { cwd }: Pick<Terminal, 'cwd'>,
): Promise<void> {
  if (file === undefined) return;
  const isThere = await access(resolve(cwd, file)).then(
    () => true,
    () => false,
  );
  if (isThere) throw new CliError(isThereAlready(file));
}

function isThereAlready(file: string): string {
  return `${file} is there already: name another file.`;
}

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
    throw new CliError(isThere ? isThereAlready(file) : `${file} cannot be written.`, [], error);
  }
  note(`Written to ${file}.`);
}
