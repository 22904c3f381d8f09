import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { nearestWord } from '@tocsin/contracts/words';
import type { ApiClient } from '../http/api-client.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';
import { changeMonitor } from './change-monitor.ts';

/**
 * Gives a monitor another externalId. Everything else about it stays, such as its history and an open incident. Repeating the command
 * changes nothing.
 * @param from the current externalId, or the id
 * @throws CliError if no monitor has it, or another monitor has the new one
 */
export async function rename(
  api: Pick<ApiClient, 'listMonitors' | 'getMonitor' | 'updateMonitor'>,
  { print }: Pick<Terminal, 'print'>,
  from: string,
  to: string,
): Promise<ExitCode> {
  const [old, next] = [from.trim(), to.trim()];
  if (old === next) throw new CliError('The old and the new externalId are the same.');
  const monitors = await api.listMonitors();
  const monitor =
    monitors.find(({ externalId }) => externalId === old) ??
    monitors.find(({ id }) => id === old.toLowerCase());
  const holder = monitors.find(({ externalId }) => externalId === next);
  if (holder !== undefined && (monitor === undefined || monitor === holder)) {
    print(plain(`Already renamed: "${next}" is ${describe(holder)}.`));
    return EXIT.ok;
  }
  if (monitor === undefined) throw unknownMonitor(monitors, old);
  if (holder !== undefined)
    throw new CliError(
      `"${next}" is taken by ${describe(holder)}. Choose another externalId, or delete that monitor first.`,
    );
  const renamed = await changeMonitor(api, monitor, ({ externalId }) => {
    if (externalId === next) return null;
    if (externalId === monitor.externalId) return { externalId: next };
    throw new CliError(`The externalId of "${old}" has just changed to "${externalId ?? ''}".`);
  });
  if (renamed === null) throw new CliError(`Monitor "${old}" has just been deleted.`);
  print(plain(`Renamed "${old}" to "${next}". Change \`externalId\` in the files, too.`));
  return EXIT.ok;
}

function describe({ id, name, source, createdAt }: Monitor): string {
  const owner = source === null ? 'without a source' : `of source "${source}"`;
  return `monitor ${id} ("${name}") ${owner}, created on ${createdAt.slice(0, 10)}`;
}

function unknownMonitor(monitors: readonly Monitor[], word: string): CliError {
  const near = nearestWord(
    word,
    monitors.flatMap(({ externalId }) => externalId ?? []),
  );
  const hint = near === null ? 'List the monitors with `tocsin monitors`.' : `Did you mean "${near}"?`;
  return new CliError(`No monitor has externalId or id "${word}". ${hint}`);
}
