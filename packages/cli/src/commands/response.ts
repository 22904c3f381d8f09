import type { ApiClient } from '../http/api-client.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';
import { PAGE_SIZE } from './events.ts';
import { findMonitors } from './monitors.ts';

/** Prints the stored response to a failed check. Defaults to the latest one. */
export async function showResponse(
  api: Pick<ApiClient, 'listMonitors' | 'listEvents' | 'getEventResponse'>,
  { print, printJson }: Pick<Terminal, 'print' | 'printJson'>,
  word: string,
  timestamp: string | undefined,
  { json = false }: { readonly json?: boolean },
): Promise<ExitCode> {
  const [monitor] = await findMonitors(api, [word]);
  const id = monitor?.id ?? '';
  const response = await api.getEventResponse(id, timestamp ?? (await latestTimestamp(api, id, word)));
  if (json) {
    printJson({ response }, 2);
    return EXIT.ok;
  }
  const { statusCode, headers, body } = response;
  const lines = Object.entries(headers).map(([name, value]) => plain(`${name}: ${value}`));
  print([`HTTP ${statusCode}`, ...lines].join('\n'));
  if (body !== null)
    print(['', ...body.split('\n').map((line) => plain(line.replaceAll('\t', '  ')))].join('\n'));
  return EXIT.ok;
}

async function latestTimestamp(
  api: Pick<ApiClient, 'listEvents'>,
  id: string,
  word: string,
): Promise<string> {
  const events = await api.listEvents(id, { limit: PAGE_SIZE });
  const event = events.findLast(({ hasResponse }) => hasResponse);
  if (event === undefined)
    throw new CliError(`None of the last ${events.length} events of "${word}" has kept its response.`);
  return event.timestamp;
}
