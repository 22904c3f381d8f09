import type { Terminal } from '../terminal/terminal.ts';
import { HiddenValues, hideHeaders } from './hidden-values.ts';
import { escapePlaceholders } from './interpolate.ts';
import { fileText, ownFields, type WrittenMonitor } from './write-file.ts';

/** A monitor with its fields as they are checked. */
export interface PlainMonitor {
  readonly externalId: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface WrittenFile {
  readonly text: string;
  /** The variables of the environment that the file needs, with the values that they stand for. */
  readonly variables: ReadonlyMap<string, string>;
}

export interface WriteOptions {
  /** Whether the values of headers, and bodies, stand in the file. */
  readonly withSecrets: boolean;
  /** Whether `${NAME}` is a variable where the monitors come from, too, and stays one. */
  readonly hasVariables?: boolean;
  /** Where the server is, whose schema editors are to read. */
  readonly schemaOf?: string;
}

export function writeMonitors(
  source: string,
  monitors: readonly PlainMonitor[],
  { withSecrets, hasVariables = false, schemaOf }: WriteOptions,
): WrittenFile {
  const toText = hasVariables ? asItIs : escapePlaceholders;
  const isVariable = (value: string): boolean => hasVariables && value.includes('${');
  const hidden = new HiddenValues(source);
  const written = monitors.map(({ externalId, fields }): WrittenMonitor => {
    const { headers, body, ...rest } = fields;
    const own = mapTexts(ownFields(externalId, rest), toText) as WrittenMonitor;
    const given = (headers ?? {}) as Readonly<Record<string, string>>;
    const shownHeaders = withSecrets
      ? mapTexts(given, toText)
      : hideHeaders(externalId, given, hidden, isVariable);
    const hideBody = (text: string): string =>
      withSecrets || isVariable(text) ? toText(text) : hidden.hide(externalId, ['body'], text);
    return {
      ...own,
      ...(Object.keys(given).length > 0 && { headers: shownHeaders }),
      ...(typeof body === 'string' && { body: hideBody(body) }),
    };
  });
  const hint = schemaOf === undefined ? '' : schemaLine(schemaOf);
  return { text: hint + fileText(escapePlaceholders(source), written), variables: hidden.variables };
}

/** Makes an editor complete and check the file. */
function schemaLine(serverUrl: string): string {
  return `# yaml-language-server: $schema=${serverUrl.replace(/\/+$/, '')}/schemas/tocsin.json\n`;
}

/** What is left out of a file, and must be set where it is applied. */
export function tellVariables(variables: WrittenFile['variables'], { note }: Pick<Terminal, 'note'>): void {
  if (variables.size === 0) return;
  const names = [...variables.keys()].join(', ');
  note(
    `Values of headers, and bodies, are left out; to apply the file, set: ${names}. --secrets writes them into the file.`,
  );
}

function asItIs(text: string): string {
  return text;
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, mapTexts(part, map)]));
}
