import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import {
  hasHiddenSecret,
  keyFor,
  noteVariables,
  type PlainMonitor,
  writeMonitors,
} from '../files/write-monitors.ts';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { requireNewFile, writeOutput } from '../terminal/text-file.ts';
import { withProgress, type Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';
import { countSources } from './account-checks.ts';

export interface ExportFlags {
  readonly source?: string;
  readonly adopt?: boolean;
  readonly secrets?: boolean;
  readonly output?: string;
}

/**
 * Writes the monitors and channels of a source to a file, without signing secrets. Applying the file changes nothing. `adopt` first assigns
 * the source to monitors without a source, because a file can only contain monitors of its source.
 */
export async function exportMonitors(
  api: ApiClient,
  terminal: Terminal,
  flags: ExportFlags,
): Promise<ExitCode> {
  const { adopt: adopts = false, secrets = false } = flags;
  requireNewFile(flags.output, terminal);
  const all = await api.listMonitors();
  const source = flags.source ?? onlySource(all);
  const owned = all.filter((monitor) => monitor.source === source);
  const unowned = adopts ? all.filter((monitor) => monitor.source === null) : [];
  const unkeyed = owned.filter(({ externalId }) => externalId === null);
  if (owned.length + unowned.length === 0) throw new CliError(`There are no monitors of source "${source}".`);
  const adopted = adopts ? await adopt(api, terminal, source, all, [...unowned, ...unkeyed]) : [];
  if (!adopts && unkeyed.length > 0)
    terminal.note(
      `Skipped monitors without an externalId: ${unkeyed.length}. --adopt gives each monitor an externalId.`,
    );
  // Adopted monitors have an externalId in `adopted`.
  const monitors = [...owned, ...adopted]
    .flatMap(({ externalId, ...fields }) => (externalId === null ? [] : [{ externalId, fields }]))
    .toSorted((one, other) => (one.externalId < other.externalId ? -1 : 1));
  const keys = new Map([...all, ...adopted].map(({ id, externalId }) => [id, externalId]));
  const channels = channelsOf(source, await api.listChannels(), keys, terminal);
  const hidesSecrets = [...monitors, ...channels].some(({ fields }) => hasHiddenSecret(fields));
  if (hidesSecrets && secrets)
    throw new CliError(
      'This API key cannot read request bodies, header values and routing keys. For --secrets, use a key with the scope write.',
    );
  const options = { withSecrets: secrets, channels, schemaOf: api.url };
  const { text, variables } = writeMonitors(source, monitors, options);
  await writeOutput(text, flags.output, terminal);
  if (hidesSecrets)
    terminal.note(
      'This API key cannot read request bodies, header values and routing keys. Set the variables below to the actual values.',
    );
  noteVariables(variables, terminal);
  return EXIT.ok;
}

/** Channels of a source as entries of a set. @param keys externalIds of monitors by ID */
function channelsOf(
  source: string,
  all: readonly Channel[],
  keys: ReadonlyMap<string, string | null>,
  { note }: Terminal,
): PlainMonitor[] {
  const owned = all.filter((channel) => channel.source === source);
  const keyed = owned.filter(({ externalId }) => externalId !== null);
  if (keyed.length < owned.length)
    note(`Skipped channels without an externalId: ${owned.length - keyed.length}.`);
  return keyed
    .toSorted((one, other) => ((one.externalId ?? '') < (other.externalId ?? '') ? -1 : 1))
    .map((channel) => {
      const { name, url, monitorIds, selector, allMonitors, events, enabled } = channel;
      const { format, template, headers, routingKey, remindAfter } = channel;
      const externalId = channel.externalId ?? '';
      const listed = monitorIds.flatMap((id) => keys.get(id) ?? []);
      const unnamed = monitorIds.length - listed.length;
      if (unnamed > 0)
        note(plain(`Left out monitors without an externalId that channel ${externalId} lists: ${unnamed}.`));
      const fields = {
        name,
        url,
        selector,
        monitorExternalIds: listed.length > 0 ? listed : null,
        allMonitors: allMonitors || null,
        events,
        format: format === 'standard' ? null : format,
        template,
        headers,
        routingKey,
        remindAfter,
        // If the field is omitted, a channel that Tocsin disabled keeps its state.
        enabled: enabled || channel.disabledReason !== null ? null : enabled,
      };
      const given = Object.entries(fields).filter(([, value]) => value !== null);
      return { externalId, fields: Object.fromEntries(given) };
    });
}

/** @throws CliError unless exactly one source exists */
function onlySource(monitors: readonly Monitor[]): string {
  const sources = countSources(monitors, []);
  const [only] = sources;
  if (only === undefined)
    throw new CliError(
      `None of the ${monitors.length} monitors has a source. To assign one: tocsin export --adopt --source <name>`,
    );
  if (sources.length === 1) return only.source;
  const lines = sources.map((one) => `  ${one.source}: ${one.monitors}`);
  throw new CliError('There are monitors of several sources. Select one with --source:', { lines });
}

/** Assigns the source to monitors, and an externalId if they have none. */
async function adopt(
  api: ApiClient,
  terminal: Terminal,
  source: string,
  all: readonly Monitor[],
  monitors: readonly Monitor[],
): Promise<Monitor[]> {
  const taken = new Set(all.flatMap(({ externalId }) => externalId ?? []));
  const adopted: Monitor[] = [];
  await withProgress(terminal, 'Adopting …', monitors.length, async (update) => {
    for (const [index, { id, name, externalId }] of monitors.entries()) {
      update(plain(`Adopting ${name} …`), index);
      const { etag } = await api.getMonitor(id);
      const key = externalId ?? keyFor(name, taken);
      adopted.push(await adoptOne(api, id, { name, source, externalId: key }, etag));
    }
  });
  if (adopted.length > 0) terminal.note(`Adopted by source "${plain(source)}": ${adopted.length}.`);
  return adopted;
}

/** @throws CliError if a response was lost and the outcome is unknown */
async function adoptOne(
  api: ApiClient,
  id: string,
  { name, source, externalId }: Pick<Monitor, 'name' | 'source' | 'externalId'>,
  etag: string,
): Promise<Monitor> {
  try {
    return await api.updateMonitor(id, { source, externalId }, etag);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 412 && error.followsLostResponse)) throw error;
    const { monitor } = await api.getMonitor(id);
    if (monitor.source === source && monitor.externalId === externalId) return monitor;
    throw new CliError(
      `A response was lost, and it is not known whether "${name}" was adopted. Run export --adopt again.`,
      { cause: error, code: 'failed', retryable: true },
    );
  }
}
