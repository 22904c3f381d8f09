import type {
  MaintenanceWindowInput,
  MaintenanceWindow,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { formatSelector, matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';
import { findMonitors } from './monitors.ts';

/** Time limit for ending maintenance. */
const END_WITHIN_MS = 15_000;

export interface MaintainFlags {
  readonly selector?: Selector;
  readonly all?: boolean;
  /** Seconds. */
  readonly for: number;
  readonly name: string;
}

type Api = Pick<ApiClient, 'listMonitors' | 'createMaintenanceWindow' | 'endMaintenance'>;
type Scope = Pick<MaintenanceWindowInput, 'monitorIds' | 'selector' | 'allMonitors'>;

/**
 * Starts maintenance of monitors. Runs the command, if any, and then ends the maintenance. If this process is killed, maintenance ends after
 * the duration in `for`.
 * @param words monitors in addition to those that the flags select
 * @param command command with arguments, or empty for none
 * @returns the exit code of the command
 */
export async function maintain(
  api: Api,
  terminal: Terminal,
  words: readonly string[],
  command: readonly string[],
  flags: MaintainFlags,
): Promise<number> {
  const scope = await findScope(api, words, flags);
  const created = await api.createMaintenanceWindow({
    name: flags.name,
    durationSeconds: flags.for,
    ...scope,
  });
  const { maintenanceWindow: window, monitorCount } = created;
  if (monitorCount === 0) {
    await end(api, terminal, window);
    throw new CliError(
      'The maintenance window would not cover any monitor, because this API key cannot change any of them.',
      { code: 'failed' },
    );
  }
  const monitors = monitorCount === 1 ? '1 monitor' : `${monitorCount} monitors`;
  if (command.length === 0) {
    terminal.print(`${window.id}  until ${window.endsAt}  ${monitors}`);
    return EXIT.ok;
  }
  terminal.note(`Maintenance of ${monitors} until ${window.endsAt} (${window.id}).`);
  try {
    return await terminal.run(command);
  } finally {
    await end(api, terminal, window);
  }
}

/** @throws CliError if no monitor is selected */
async function findScope(api: Api, words: readonly string[], flags: MaintainFlags): Promise<Scope> {
  const { selector = null, all: allMonitors = false } = flags;
  if (words.length === 0 && selector === null && !allMonitors) {
    throw new CliError('Name monitors, or select them with -l or --all.');
  }
  const monitors = await api.listMonitors();
  const named = await findMonitors({ listMonitors: () => Promise.resolve(monitors) }, words);
  if (selector !== null && !monitors.some(({ labels }) => matchesSelector(selector, labels))) {
    throw new CliError(`No monitor matches ${formatSelector(selector)}.`);
  }
  return { monitorIds: [...new Set(named.map(({ id }) => id))], selector, allMonitors };
}

/** Reports failures without throwing, because the exit code must be that of the command. */
async function end(
  api: Api,
  { note }: Terminal,
  { id, endsAt }: Pick<MaintenanceWindow, 'id' | 'endsAt'>,
): Promise<void> {
  try {
    const ended = await api.endMaintenance(id, performance.now() + END_WITHIN_MS);
    const isLate = ended.endsAt === endsAt;
    note(
      isLate
        ? `Maintenance ended at ${endsAt}, before the command ended: --for was too short.`
        : 'Maintenance ended.',
    );
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    note(plain(`Could not end the maintenance. It lasts until ${endsAt} (${id}). ${error.message}`));
  }
}
