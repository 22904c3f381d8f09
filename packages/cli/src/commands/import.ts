import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { tellVariables, writeMonitors } from '../files/write-monitors.ts';
import { parseYaml } from '../files/yaml-file.ts';
import { fromGatus, withStandIns } from '../import/gatus.ts';
import { gather, type Imported, type Translation } from '../import/translation.ts';
import { fromUptimeKuma } from '../import/uptime-kuma.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { deliverText } from '../terminal/output-file.ts';
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

/** Writes another tool's monitors as a file for `apply`, and tells what could not be taken over. Asks no API. */
export async function importMonitors(
  terminal: Terminal,
  tool: Tool,
  file: string,
  flags: ImportFlags,
): Promise<ExitCode> {
  const translate: (content: unknown) => Translation[] = TOOLS[tool];
  const hasVariables = tool === 'gatus';
  const translations = translate(await readContent(tool, file, terminal.cwd));
  const imported = gather(translations, hasVariables ? withStandIns : null);
  const { text, variables } = writeMonitors(flags.source ?? tool, imported.monitors, {
    withSecrets: flags.secrets === true,
    hasVariables,
  });
  await deliverText(text, flags.output, terminal);
  report(imported, terminal);
  tellVariables(variables, terminal);
  return EXIT.ok;
}

async function readContent(tool: Tool, file: string, cwd: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw new CliError(`${file} cannot be read.`, [], error);
  }
  if (tool === 'gatus') return parseYaml(file, text).value;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`${file} is not JSON.`, [], error);
  }
}

function report({ monitors, remarks, skipped }: Imported, { note }: Terminal): void {
  note(`Taken over: ${monitors.length}. Left out: ${skipped}.`);
  for (const { name, remarks: said } of remarks)
    for (const remark of said) note(plain(`  ${name}: ${remark}`));
  note('Alerts are not taken over: assign channels in the dashboard.');
}
