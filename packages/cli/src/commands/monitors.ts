import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { nearestWord } from '@tocsin/contracts/words';
import type { ApiClient } from '../http/api-client.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { jsonText, plain, statusText, tableText } from '../terminal/text.ts';

/**
 * The monitors that words name: by id, by externalId, or by a name that only one has.
 * @throws CliError
 */
export async function findMonitors(
  api: Pick<ApiClient, 'listMonitors'>,
  words: readonly string[],
): Promise<Monitor[]> {
  const monitors = await api.listMonitors();
  return words.map((word) => findMonitor(monitors, word));
}

function findMonitor(monitors: readonly Monitor[], word: string): Monitor {
  const exact = monitors.find(({ id, externalId }) => externalId === word || id === word.toLowerCase());
  if (exact !== undefined) return exact;
  const named = monitors.filter(({ name }) => name === word);
  const [only] = named;
  if (only !== undefined && named.length === 1) return only;
  if (only !== undefined) {
    throw new CliError(
      `${named.length} monitors are named "${word}": give an id or an externalId.`,
      named.map(({ id, externalId }) => `  ${id} ${externalId ?? ''}`),
    );
  }
  const near = nearestWord(
    word,
    monitors.flatMap(({ name, externalId }) => [name, ...(externalId === null ? [] : [externalId])]),
  );
  const hint = near === null ? '`tocsin monitors` lists them.' : `Did you mean "${near}"?`;
  throw new CliError(`There is no monitor "${word}". ${hint}`);
}

export interface ListFlags {
  readonly source?: string;
  readonly status?: string;
  readonly json?: boolean;
}

/** Prints the monitors of the account, newest first. */
export async function listMonitors(
  api: Pick<ApiClient, 'listMonitors'>,
  { print, colors }: Terminal,
  flags: ListFlags,
): Promise<ExitCode> {
  const monitors = (await api.listMonitors()).filter((monitor) => isWanted(monitor, flags));
  if (flags.json === true) print(jsonText({ monitors }, 2));
  else {
    const rows = monitors.map(({ status, externalId, source, name, url, interval }) => [
      statusText(status, colors),
      plain(externalId ?? ''),
      plain(source ?? ''),
      plain(name),
      `${interval} s`,
      plain(url),
    ]);
    print(tableText(['STATUS', 'EXTERNAL ID', 'SOURCE', 'NAME', 'INTERVAL', 'URL'], rows));
  }
  return EXIT.ok;
}

function isWanted({ source, status }: Monitor, flags: ListFlags): boolean {
  return (
    (flags.source === undefined || source === flags.source) &&
    (flags.status === undefined || status === flags.status)
  );
}
