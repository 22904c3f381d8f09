import { isUtf8 } from 'node:buffer';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CliError } from './cli-error.ts';
import type { Terminal } from './terminal.ts';

/** Names of standard input on the command line and in messages. */
export const STDIN = { path: '-', name: 'stdin' } as const;

/**
 * Reads a UTF-8 file and removes its byte order mark.
 * @param file `-` for standard input
 * @param ifBinary error text for a file with NUL bytes, appended to the file name. If omitted, NUL bytes are accepted
 * @throws CliError if the file cannot be read or is not UTF-8
 */
export async function readText(
  file: string,
  { cwd, readStdin }: Pick<Terminal, 'cwd'> & Partial<Pick<Terminal, 'readStdin'>>,
  ifBinary?: string,
): Promise<string> {
  const name = file === STDIN.path ? STDIN.name : file;
  const reading = file === STDIN.path && readStdin !== undefined ? readStdin() : readFile(resolve(cwd, file));
  const bytes = await reading.catch((error: unknown) => {
    throw new CliError(`Could not read ${name}.`, { cause: error });
  });
  if (ifBinary !== undefined && bytes.includes(0)) throw new CliError(`${name} ${ifBinary}`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    const line = lineOfInvalidUtf8(bytes);
    throw new CliError(`${name}:${line}: the file is not valid UTF-8. Save it as UTF-8.`, { cause: error });
  }
}

function lineOfInvalidUtf8(bytes: Uint8Array): number {
  const newline = 10;
  for (let line = 1, start = 0; ; line += 1) {
    const end = bytes.indexOf(newline, start);
    if (end === -1 || !isUtf8(bytes.subarray(start, end))) return line;
    start = end + 1;
  }
}

/** Call this before work that cannot be undone. @throws CliError if the file exists */
export function requireNewFile(file: string | undefined, { cwd }: Pick<Terminal, 'cwd'>): void {
  if (file !== undefined && existsSync(resolve(cwd, file)))
    throw new CliError(`${file} already exists. Choose another file.`);
}

/** Prints text, or writes it to a new file. @throws CliError if the file exists */
export async function writeOutput(
  text: string,
  file: string | undefined,
  { cwd, print, note }: Terminal,
): Promise<void> {
  if (file === undefined) return print(text.trimEnd());
  requireNewFile(file, { cwd });
  await writeFile(resolve(cwd, file), text, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    throw new CliError(`Could not write ${file}.`, { cause: error, code: 'failed' });
  });
  note(`Wrote ${file}.`);
}
