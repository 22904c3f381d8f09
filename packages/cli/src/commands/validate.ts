import { readSets } from '../files/load-sets.ts';
import { InvalidFilesError, positionText } from '../files/yaml-file.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';

export interface ValidateFlags {
  readonly file?: readonly string[];
  readonly source?: string;
}

/**
 * Validates files without a server. Lists unset variables without failing, because pipelines for untrusted changes should not have secrets.
 * @param paths in addition to `--file`. Without both, `tocsin.yaml`
 * @throws CliError with all errors and their positions
 */
export async function validateFiles(
  terminal: Terminal,
  paths: readonly string[],
  { file = [], source }: ValidateFlags,
): Promise<ExitCode> {
  const { sets, fileCount, errors, unset } = await readSets([...paths, ...file], source, terminal);
  if (unset.length > 0) {
    terminal.note('Variables that apply needs:');
    for (const { position, message } of unset) terminal.note(`  ${positionText(position)}: ${message}`);
  }
  if (errors.length > 0) throw new InvalidFilesError(errors);
  const monitors = sets.reduce((sum, set) => sum + set.monitors.length, 0);
  const channels = sets.reduce((sum, set) => sum + (set.channels?.length ?? 0), 0);
  const counts = `Files: ${fileCount}, sources: ${sets.length}, monitors: ${monitors}`;
  terminal.print(`Valid. ${counts}${channels > 0 ? `, channels: ${channels}` : ''}.`);
  return EXIT.ok;
}
