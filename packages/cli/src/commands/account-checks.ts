import type { Region } from '@tocsin/contracts/regions/routes';
import type { FileSet } from '../files/load-sets.ts';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';

export interface UnlistedSource {
  readonly source: string;
  readonly monitors: number;
  readonly channels: number;
}

type Sourced = readonly { readonly source: string | null }[];

/** Finds sources in the account that are in no file, sorted by name. */
export function findUnlistedSources(
  monitors: Sourced,
  channels: Sourced,
  sets: readonly Pick<FileSet, 'source'>[],
): UnlistedSource[] {
  const listed = new Set(sets.map(({ source }) => source));
  const [monitorCounts, channelCounts] = [countBySource(monitors), countBySource(channels)];
  return [...new Set([...monitorCounts.keys(), ...channelCounts.keys()])]
    .filter((source) => !listed.has(source))
    .toSorted()
    .map((source) => ({
      source,
      monitors: monitorCounts.get(source) ?? 0,
      channels: channelCounts.get(source) ?? 0,
    }));
}

function countBySource(entries: Sourced): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { source } of entries) if (source !== null) counts.set(source, (counts.get(source) ?? 0) + 1);
  return counts;
}

const MAX_SOURCES = 5;

/** Reports sources that are in no file. Uses one line, because in a shared account most sources belong to other teams. */
export function noteUnlistedSources(
  sources: readonly UnlistedSource[],
  { note }: Pick<Terminal, 'note'>,
): void {
  if (sources.length === 0) return;
  const shown = sources
    .slice(0, MAX_SOURCES)
    .map(({ source, monitors, channels }) => `${source} (${monitors + channels})`);
  const more = sources.length > MAX_SOURCES ? ` and ${sources.length - MAX_SOURCES} more` : '';
  note(
    plain(
      `Sources that are in no file (monitors and channels): ${shown.join(', ')}${more}. They are kept. To delete them, use --prune-sources <pattern>.`,
    ),
  );
}

type RegionsApi = Pick<ApiClient, 'listRegions'>;

/**
 * Warns about regions without a checker.
 * @returns regions that are unknown to the server, because no monitor uses them yet
 */
export async function warnAboutRegions(
  api: RegionsApi,
  codes: Iterable<string>,
  { note }: Pick<Terminal, 'note'>,
): Promise<string[]> {
  const used = [...new Set(codes)].toSorted();
  const regions = used.length === 0 ? null : await readRegions(api);
  if (regions === null) return [];
  for (const code of used) {
    if (regions.get(code)?.served === false)
      note(`Warning: no checker serves region ${plain(code)}. Its monitors are not checked there.`);
  }
  return used.filter((code) => !regions.has(code));
}

/** Regions of all monitors in the files. */
export function regionsOf(sets: readonly FileSet[]): string[] {
  return sets.flatMap(({ monitors }) => monitors.flatMap(({ fields }) => fields.regions ?? []));
}

/** Returns null if the regions cannot be read, because the warning must not fail the command. */
async function readRegions(api: RegionsApi): Promise<Map<string, Region> | null> {
  try {
    return new Map((await api.listRegions()).map((region) => [region.region, region]));
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}
