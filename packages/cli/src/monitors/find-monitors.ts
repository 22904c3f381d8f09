import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { nearestWord } from '@tocsin/contracts/words';
import type { ApiClient } from '../http/api-client.ts';
import { CliError } from '../terminal/cli-error.ts';

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
