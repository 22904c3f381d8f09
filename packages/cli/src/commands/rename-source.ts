import { LIMITS } from '@tocsin/contracts/limits';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { requireConfirmation, withProgress, type Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';
import { changeMonitor } from './change-monitor.ts';

type Api = Pick<
  ApiClient,
  'listMonitors' | 'listChannels' | 'getMonitor' | 'updateMonitor' | 'updateChannel'
>;

/**
 * Moves all monitors and channels of a source to another source. After an interruption, running the command again moves the rest. Until then,
 * an `apply` for either source fails or does not change the other one.
 * @throws CliError if the source does not exist
 */
export async function renameSource(
  api: Api,
  terminal: Terminal,
  from: string,
  to: string,
  { yes = false }: { readonly yes?: boolean } = {},
): Promise<ExitCode> {
  const [old, next] = [from.trim(), to.trim()];
  if (next === '' || next.length > LIMITS.externalIdCharacters)
    throw new CliError(`The new name must be 1 to ${LIMITS.externalIdCharacters} characters.`);
  if (old === next) throw new CliError('The old and the new name are the same.');
  requireConfirmation(terminal, yes);
  const [allMonitors, allChannels] = [await api.listMonitors(), await api.listChannels()];
  const monitors = allMonitors.filter(({ source }) => source === old);
  const channels = allChannels.filter(({ source }) => source === old);
  const others = [...allMonitors, ...allChannels].filter(({ source }) => source === next).length;
  const total = monitors.length + channels.length;
  if (total === 0) throw new CliError(`There are no monitors or channels of source "${old}".`);
  if (others > 0) terminal.note(plain(`Source "${next}" already has monitors or channels: ${others}.`));
  const what = `monitors (${monitors.length}) and channels (${channels.length})`;
  const question = plain(`Move ${what} from source "${old}" to "${next}"?`);
  if (!yes && !(await terminal.confirm(question))) {
    terminal.note('Nothing was changed.');
    return EXIT.failed;
  }
  let moved = 0;
  try {
    await withProgress(terminal, 'Moving …', total, async (update) => {
      for (const one of [...monitors, ...channels]) {
        update(plain(`Moving ${one.name} …`), moved);
        const isMoved =
          'status' in one ? await moveMonitor(api, one, old, next) : await moveChannel(api, one.id, next);
        if (isMoved) moved += 1;
      }
    });
  } catch (error) {
    terminal.note(`Moved: ${moved} of ${total}. Run the command again to move the rest.`);
    throw error;
  }
  terminal.print(plain(`Moved to source "${next}": ${moved}. Change \`source\` in the files, too.`));
  return EXIT.ok;
}

/** @returns false if the channel was deleted */
async function moveChannel(api: Api, id: string, to: string): Promise<boolean> {
  try {
    await api.updateChannel(id, { source: to });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

/** @returns false if the monitor was deleted or has left the source */
async function moveMonitor(api: Api, monitor: Monitor, from: string, to: string): Promise<boolean> {
  // An earlier attempt whose response was lost may have moved the monitor.
  const moved = await changeMonitor(api, monitor, ({ source }) => (source === from ? { source: to } : null));
  return moved?.source === to;
}
