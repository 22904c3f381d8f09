import { LIMITS } from '@tocsin/contracts/limits';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { withProgress, type Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';

/** How often a monitor is read again because it keeps changing. */
const MAX_ATTEMPTS = 5;

type Api = Pick<ApiClient, 'listMonitors' | 'getMonitor' | 'updateMonitor'>;

/**
 * Moves every monitor of a source to another one. An interrupted command can be repeated: it moves the rest. Until the end, an `apply`
 * for either source fails or changes nothing of the other.
 * @throws CliError if no monitor has the source
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
  const all = await api.listMonitors();
  const monitors = all.filter(({ source }) => source === old);
  const others = all.filter(({ source }) => source === next).length;
  if (monitors.length === 0) throw new CliError(`There are no monitors of source "${old}".`);
  if (others > 0) terminal.note(plain(`Source "${next}" has monitors already: ${others}.`));
  const question = plain(`Move ${monitors.length} monitors from source "${old}" to "${next}"?`);
  if (terminal.isInteractive && !yes && !(await terminal.confirm(question))) {
    terminal.note('Nothing was changed.');
    return EXIT.failed;
  }
  let moved = 0;
  try {
    await withProgress(terminal, 'Moving …', monitors.length, async (update) => {
      for (const [index, monitor] of monitors.entries()) {
        update(plain(`Moving ${monitor.name} …`), index);
        if (await move(api, monitor, old, next)) moved += 1;
      }
    });
  } catch (error) {
    terminal.note(plain(`Moved: ${moved} of ${monitors.length}. Run the command again to move the rest.`));
    throw error;
  }
  terminal.print(plain(`Moved to source "${next}": ${moved}. Change \`source\` in the files, too.`));
  return EXIT.ok;
}

/** @returns false if the monitor was deleted, or has left the source */
async function move(
  api: Api,
  { id, name }: Pick<Monitor, 'id' | 'name'>,
  from: string,
  to: string,
): Promise<boolean> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    try {
      const { monitor, etag } = await api.getMonitor(id);
      // An earlier attempt may have moved it, although its response was lost.
      if (monitor.source !== from) return monitor.source === to;
      await api.updateMonitor(id, { source: to }, etag);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) return false;
      if (error.status !== 412) throw error;
    }
  }
  throw new CliError(`Monitor "${name}" keeps changing. Run the command again to move the rest.`);
}
