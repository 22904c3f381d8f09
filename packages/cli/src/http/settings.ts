import { parseUrl } from '@tocsin/contracts/parse-url';
import { CliError } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { readText } from '../terminal/text-file.ts';

const DEFAULT_URL = 'http://localhost:3000';

export interface ServerFlags {
  readonly server?: string;
  readonly apiKeyFile?: string;
}

/**
 * Reads the server URL and the API key. There is no flag for the key itself, because all users of a machine can see command lines, and shells
 * store them in their history.
 * @throws CliError
 */
export async function readSettings(
  flags: ServerFlags,
  { env, cwd, hide }: Pick<Terminal, 'env' | 'cwd' | 'hide'>,
): Promise<{ url: string; apiKey: string }> {
  const url = flags.server ?? (env['TOCSIN_URL'] || DEFAULT_URL);
  if (/^https?:[/\\]*[^/\\?#]*@/i.test(url)) {
    throw new CliError('The server URL must not contain a user name or password, because messages show it.');
  }
  if (!/^https?:\/\//i.test(url) || parseUrl(url) === null) {
    throw new CliError(`The server must be a URL such as ${DEFAULT_URL}, not ${url}.`);
  }
  const file = flags.apiKeyFile ?? (env['TOCSIN_API_KEY_FILE'] || undefined);
  const apiKey = file === undefined ? env['TOCSIN_API_KEY'] : await readText(file, { cwd });
  if (apiKey === undefined || apiKey.trim() === '') {
    throw new CliError(
      'No API key. Set TOCSIN_API_KEY, or pass a file that contains the key with --api-key-file. The first `npm start` prints a key.',
    );
  }
  hide('TOCSIN_API_KEY', apiKey);
  return { url, apiKey: apiKey.trim() };
}
