import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { jsonText, plain } from '../terminal/plain.ts';
import { statusText } from '../terminal/status-text.ts';
import { tableText } from '../terminal/table-text.ts';
import type { Terminal } from '../terminal/terminal.ts';

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
