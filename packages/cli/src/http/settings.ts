import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseUrl } from '@tocsin/contracts/parse-url';
import { CliError } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';

const DEFAULT_URL = 'http://localhost:3000';

/** What every command that asks the API takes. */
export interface ServerFlags {
  readonly server?: string;
  readonly apiKeyFile?: string;
}

/**
 * Where the API is, and the key for it. There is no flag for the key itself: a command line is seen by every user of the machine, and
 * stays in the history of the shell.
 * @throws CliError
 */
export async function readSettings(
  flags: ServerFlags,
  { env, cwd }: Pick<Terminal, 'env' | 'cwd'>,
): Promise<{ url: string; apiKey: string }> {
  const url = flags.server ?? (env['TOCSIN_URL'] || DEFAULT_URL);
  if (/^https?:[/\\]*[^/\\?#]*@/i.test(url)) {
    throw new CliError('The URL of the server must hold no user name or password: messages tell it.');
  }
  if (!/^https?:\/\//i.test(url) || parseUrl(url) === null) {
    throw new CliError(`The server must be a URL such as ${DEFAULT_URL}, not ${url}.`);
  }
  const file = flags.apiKeyFile ?? (env['TOCSIN_API_KEY_FILE'] || undefined);
  const apiKey = file === undefined ? env['TOCSIN_API_KEY'] : await readKey(resolve(cwd, file));
  if (apiKey === undefined || apiKey.trim() === '') {
    throw new CliError(
      'No API key: set TOCSIN_API_KEY, or name a file that holds it with --api-key-file. `npm start` prints a key at its first start.',
    );
  }
  return { url, apiKey: apiKey.trim() };
}

async function readKey(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`The API key cannot be read from ${file}.`, [], error);
  }
}
