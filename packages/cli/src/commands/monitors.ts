import { labelTexts } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { nearestWord } from '@tocsin/contracts/words';
import type { ApiClient } from '../http/api-client.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain, statusText, tableText } from '../terminal/text.ts';

export interface ListFlags {
  readonly source?: string;
  readonly status?: string;
  readonly selector?: Selector;
  readonly json?: boolean;
}

export async function listMonitors(
  api: Pick<ApiClient, 'listMonitors'>,
  { print, printJson, colors }: Terminal,
  { source, status, selector = {}, json = false }: ListFlags,
): Promise<ExitCode> {
  const monitors = (await api.listMonitors()).filter(
    (monitor) =>
      (source === undefined || monitor.source === source) &&
      (status === undefined || monitor.status === status) &&
      matchesSelector(selector, monitor.labels),
  );
  if (json) {
    printJson({ monitors }, 2);
    return EXIT.ok;
  }
  const rows = monitors.map((monitor) => [
    monitor.enabled ? statusText(monitor.status, colors) : colors.dim('PAUSED'),
    plain(monitor.externalId ?? ''),
    plain(monitor.source ?? ''),
    plain(monitor.name),
    `${monitor.interval} s`,
    plain(monitor.url),
    labelTexts(monitor.labels).join(','),
    monitor.errorDetail ? colors.red(plain(monitor.errorDetail)) : '',
  ]);
  const head = ['STATUS', 'EXTERNAL ID', 'SOURCE', 'NAME', 'INTERVAL', 'URL', 'LABELS'];
  print(tableText(rows.some((row) => row[head.length] !== '') ? [...head, 'CAUSE'] : head, rows));
  return EXIT.ok;
}

/**
 * Finds monitors by ID, externalId or unique name, and by selector.
 * @throws CliError if a word or the selector matches no monitor
 */
export async function findMonitors(
  api: Pick<ApiClient, 'listMonitors'>,
  words: readonly string[],
  selector?: Selector,
): Promise<Monitor[]> {
  const monitors = await api.listMonitors();
  const named = words.map((word) => findMonitor(monitors, word));
  if (selector === undefined) return named;
  const selected = monitors.filter(({ labels }) => matchesSelector(selector, labels));
  if (selected.length === 0)
    throw new CliError('No monitor has these labels. List the labels with `tocsin monitors`.');
  return [...named, ...selected.filter((monitor) => !named.includes(monitor))];
}

function findMonitor(monitors: readonly Monitor[], word: string): Monitor {
  const exact = monitors.find(({ id, externalId }) => externalId === word || id === word.toLowerCase());
  if (exact !== undefined) return exact;
  const named = monitors.filter(({ name }) => name === word);
  const [first] = named;
  if (first !== undefined && named.length === 1) return first;
  if (first !== undefined) {
    throw new CliError(`${named.length} monitors are named "${word}". Use an id or an externalId:`, {
      lines: named.map(({ id, externalId }) => `  ${id} ${externalId ?? ''}`),
    });
  }
  const near = nearestWord(
    word,
    monitors.flatMap(({ name, externalId }) => (externalId === null ? [name] : [name, externalId])),
  );
  const hint = near === null ? 'List the monitors with `tocsin monitors`.' : `Did you mean "${near}"?`;
  throw new CliError(`There is no monitor "${word}". ${hint}`);
}
