import { noteVariables, writeMonitors } from '../files/write-monitors.ts';
import { parseYaml } from '../files/yaml-file.ts';
import { fromGatus, withStandIns } from '../import/gatus.ts';
import { validateTranslations, type Imported } from '../import/translation.ts';
import { fromUptimeKuma } from '../import/uptime-kuma.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { readText, writeOutput } from '../terminal/text-file.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';

export interface ImportFlags {
  readonly source?: string;
  readonly secrets?: boolean;
  readonly output?: string;
}

const TOOLS = { 'uptime-kuma': fromUptimeKuma, gatus: fromGatus } as const;
export type Tool = keyof typeof TOOLS;
export const TOOL_NAMES = Object.keys(TOOLS) as Tool[];

/** Converts the configuration of another tool to a file for `apply`, and reports what was not converted. Calls no API. */
export async function importMonitors(
  terminal: Terminal,
  tool: Tool,
  file: string,
  { source = tool, secrets = false, output }: ImportFlags,
): Promise<ExitCode> {
  const translate: (content: unknown) => Imported = TOOLS[tool];
  const hasVariables = tool === 'gatus';
  const { translations, remarks: general } = translate(await readContent(tool, file, terminal));
  const { monitors, remarks } = validateTranslations(translations, hasVariables ? withStandIns : null);
  const { text, variables } = writeMonitors(source, monitors, { withSecrets: secrets, hasVariables });
  await writeOutput(text, output, terminal);
  const skipped = translations.length - monitors.length;
  terminal.note(`Imported: ${monitors.length}. Skipped: ${skipped}.`);
  for (const remark of [...general, ...remarks]) terminal.note(plain(`  ${remark}`));
  terminal.note('Alerts are not imported. Add `channels` to the file, or assign channels in the dashboard.');
  noteVariables(variables, terminal);
  return EXIT.ok;
}

async function readContent(tool: Tool, file: string, terminal: Terminal): Promise<unknown> {
  const text = await readText(file, terminal);
  if (tool === 'gatus') return parseYaml(file, text).value;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`${file} is not valid JSON.`, [], error);
  }
}
