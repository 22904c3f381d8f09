import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { nearestWord } from '@tocsin/contracts/words';
import type { ApiClient } from '../http/api-client.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';
import { changeMonitor } from './change-monitor.ts';

type MonitorApi = Pick<ApiClient, 'getMonitor' | 'updateMonitor'>;
type Api = MonitorApi & Pick<ApiClient, 'listMonitors' | 'listChannels' | 'updateChannel'>;
type Entry = Monitor | Channel;

/**
 * Changes the externalId of a monitor or channel. Everything else stays, such as the history of a monitor and the secret of a channel.
 * Repeating the command changes nothing.
 * @param from current externalId, or ID
 * @throws CliError if there is no such resource, or the new externalId is taken
 */
export async function rename(
  api: Api,
  { print }: Pick<Terminal, 'print'>,
  from: string,
  to: string,
  { channel = false }: { readonly channel?: boolean },
): Promise<ExitCode> {
  const [old, next] = [from.trim(), to.trim()];
  if (old === next) throw new CliError('The old and the new externalId are the same.');
  const entries: readonly Entry[] = channel ? await api.listChannels() : await api.listMonitors();
  const entry =
    entries.find(({ externalId }) => externalId === old) ??
    entries.find(({ id }) => id === old.toLowerCase());
  const holder = entries.find(({ externalId }) => externalId === next);
  if (holder !== undefined && (entry === undefined || entry === holder)) {
    print(plain(`Already renamed: "${next}" is ${describe(holder)}.`));
    return EXIT.ok;
  }
  const noun = channel ? 'channel' : 'monitor';
  if (entry === undefined) throw unknownEntry(noun, entries, old);
  if (holder !== undefined)
    throw new CliError(
      `"${next}" is taken by ${describe(holder)}. Choose another externalId, or delete that ${noun} first.`,
      CONFLICT,
    );
  if ('status' in entry) await renameMonitor(api, entry, next);
  else await api.updateChannel(entry.id, { externalId: next });
  print(plain(`Renamed "${old}" to "${next}". Change \`externalId\` in the files, too.`));
  return EXIT.ok;
}

const CONFLICT = { code: 'conflict' } as const;

async function renameMonitor(api: MonitorApi, monitor: Monitor, next: string): Promise<void> {
  const renamed = await changeMonitor(api, monitor, ({ externalId }) => {
    if (externalId === next) return null;
    if (externalId === monitor.externalId) return { externalId: next };
    const change = externalId === null ? 'been removed' : `changed to "${externalId}"`;
    throw new CliError(`The externalId of monitor ${monitor.id} has just ${change}.`, CONFLICT);
  });
  if (renamed === null) throw new CliError(`Monitor ${monitor.id} has just been deleted.`, CONFLICT);
}

function describe(entry: Entry): string {
  const noun = 'status' in entry ? 'monitor' : 'channel';
  const owner = entry.source === null ? 'without a source' : `of source "${entry.source}"`;
  return `${noun} ${entry.id} ("${entry.name}") ${owner}, created on ${entry.createdAt.slice(0, 10)}`;
}

function unknownEntry(noun: string, entries: readonly Entry[], word: string): CliError {
  const near = nearestWord(
    word,
    entries.flatMap(({ externalId }) => externalId ?? []),
  );
  const hint = near === null ? 'Check its externalId.' : `Did you mean "${near}"?`;
  return new CliError(`No ${noun} has externalId or id "${word}". ${hint}`);
}
