import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';

/** Number of monitors and channels of a source. */
export interface SourceCounts {
  readonly source: string;
  readonly monitors: number;
  readonly channels: number;
}

type Sourced = readonly { readonly source: string | null }[];

/** Returns all sources of the account, sorted by name. */
export function countSources(monitors: Sourced, channels: Sourced): SourceCounts[] {
  const count = (entries: Sourced, of: string): number =>
    entries.filter(({ source }) => source === of).length;
  return [...new Set([...monitors, ...channels].flatMap(({ source }) => source ?? []))]
    .toSorted()
    .map((source) => ({ source, monitors: count(monitors, source), channels: count(channels, source) }));
}

const MAX_SOURCES = 5;

/** Reports sources that are in no file. Uses one line, because in a shared account most sources belong to other teams. */
export function noteUnlistedSources(
  sources: readonly SourceCounts[],
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

/**
 * Warns about regions that nothing serves. If the regions cannot be read, there is no warning, because a warning must not fail the command.
 * @returns regions that are unknown to the server, because no monitor uses them yet
 */
export async function warnAboutRegions(
  api: Pick<ApiClient, 'listRegions'>,
  codes: readonly string[],
  { note }: Pick<Terminal, 'note'>,
): Promise<string[]> {
  if (codes.length === 0) return [];
  try {
    const regions = new Map((await api.listRegions()).map((one) => [one.region, one]));
    const used = [...new Set(codes)].toSorted();
    for (const code of used) {
      const { served, kind } = regions.get(code) ?? {};
      const server = kind === 'agents' ? 'agent' : 'checker';
      if (served === false)
        note(`Warning: no ${server} serves region ${plain(code)}. Its monitors are not checked there.`);
    }
    return used.filter((code) => !regions.has(code));
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
}
