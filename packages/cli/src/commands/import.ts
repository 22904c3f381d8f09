import { noteVariables, writeMonitors } from '../files/write-monitors.ts';
import { combineChannels } from '../import/channels.ts';
import { readGatus } from '../import/gatus-files.ts';
import { withStandIns } from '../import/gatus-variables.ts';
import { fromGatus } from '../import/gatus.ts';
import { type Imported, type ImportedMonitor, validateTranslations } from '../import/translation.ts';
import { EXPORT_ADVICE, fromUptimeKuma } from '../import/uptime-kuma.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { readText, writeOutput } from '../terminal/text-file.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';

export interface ImportFlags {
  readonly source?: string;
  readonly secrets?: boolean;
  /** Imports monitors that cannot pass yet. By default, they become comments. */
  readonly incomplete?: boolean;
  readonly output?: string;
}

const TOOLS = { 'uptime-kuma': fromUptimeKuma, gatus: fromGatus } as const;
export type Tool = keyof typeof TOOLS;
export const TOOL_NAMES = Object.keys(TOOLS) as Tool[];

/** Converts another tool's configuration to a file for `apply`, and reports omissions. Does not call the API. */
export async function importMonitors(
  terminal: Terminal,
  tool: Tool,
  file: string,
  { source = tool, secrets = false, incomplete: keepsIncomplete = false, output }: ImportFlags,
): Promise<ExitCode> {
  const translate: (content: unknown) => Imported = TOOLS[tool];
  const hasVariables = tool === 'gatus';
  const { translations, remarks: general } = translate(await readContent(tool, file, terminal));
  const replaceVariables = hasVariables ? withStandIns : null;
  const { monitors: valid, remarks } = validateTranslations(translations, replaceVariables);
  const monitors = valid.filter(({ missing }) => keepsIncomplete || missing.length === 0);
  const incomplete = valid.filter((monitor) => !monitors.includes(monitor));
  const { channels, remarks: channelRemarks } = combineChannels(monitors, replaceVariables);
  const options = { withSecrets: secrets, hasVariables, hidesUrls: true };
  const { text, variables } = writeMonitors(source, monitors, { ...options, channels });
  const comments = incomplete.map((one) => toComment(one, writeMonitors(source, [one], options).text));
  await writeOutput(text + comments.join(''), output, terminal);
  const skipped = translations.length - valid.length;
  terminal.note(`Imported: ${monitors.length}. Skipped: ${skipped}. Channels: ${channels.length}.`);
  if (comments.length > 0)
    terminal.note(
      `Incomplete: ${comments.length}. The file contains them as comments, because they cannot pass yet. --incomplete imports them.`,
    );
  for (const remark of [...general, ...remarks, ...channelRemarks]) terminal.note(plain(`  ${remark}`));
  if (channels.length === 0)
    terminal.note('No alerts are imported. Add `channels` to the file, or assign channels in the dashboard.');
  noteVariables(variables, terminal);
  return EXIT.ok;
}

/** @param file text of a file that contains only this monitor */
function toComment({ missing }: ImportedMonitor, file: string): string {
  const lines = file.slice(file.indexOf('\nmonitors:\n') + '\nmonitors:\n'.length).trimEnd();
  const reason = plain(`This monitor cannot pass: ${missing.join(', ')}`);
  return [`  # ${reason}`, ...lines.split('\n')].map((line) => `#${line}\n`).join('');
}

async function readContent(tool: Tool, file: string, terminal: Terminal): Promise<unknown> {
  if (tool === 'gatus') return readGatus(file, terminal);
  const text = await readText(file, terminal, EXPORT_ADVICE);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`${file} is not valid JSON.`, { cause: error });
  }
}
