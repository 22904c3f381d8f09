import { createHash } from 'node:crypto';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { asciiWords, secretVariable } from '@tocsin/contracts/words';
import { Document } from 'yaml';
import { CliError } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { escapePlaceholders } from './interpolate.ts';

/** Of the hexadecimal SHA-256 of what a value belongs to: 64 bits, so that nobody can search a monitor that gets a given variable. */
const DIGITS = 16;

/** Values that are kept out of the file of a source: variables of the environment stand for them. */
export class HiddenValues {
  /** The values by variable. */
  readonly variables = new Map<string, string>();
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  /**
   * Hides a value. Call it once for each field.
   * @param path the field that holds the value, such as `['headers', 'Authorization']`
   * @returns what stands in the file
   * @throws CliError if another field has the variable
   */
  hide(monitorKey: string, path: readonly [string, ...string[]], value: string): string {
    // It tells nothing, and a variable must not be empty.
    if (value === '') return value;
    const id = JSON.stringify([this.#source, monitorKey, ...path]);
    const digits = createHash('sha256').update(id).digest('hex').slice(0, DIGITS);
    const variable = secretVariable(`${monitorKey}_${path.at(-1)}`, digits);
    if (this.variables.has(variable))
      throw new CliError(
        `The variable ${variable} already stands for another value, so it cannot stand for ${path.join('.')} of monitor ${monitorKey}. Change the externalId of one monitor, or pass --secrets.`,
      );
    this.variables.set(variable, value);
    return `\${${variable}}`;
  }
}

/** Headers whose values are no secrets. */
const OPEN = new Set(['accept', 'accept-language', 'cache-control', 'content-type', 'user-agent']);

/** Header fields with their values out of sight. @param staysAsItIs of values that hold variables already */
export function hideHeaders(
  monitorKey: string,
  headers: Readonly<Record<string, string>>,
  hidden: HiddenValues,
  staysAsItIs: (value: string) => boolean,
): Readonly<Record<string, string>> {
  const shown = Object.entries(headers).map(([name, value]): [string, string] => {
    if (staysAsItIs(value)) return [name, value];
    if (OPEN.has(name.toLowerCase())) return [name, escapePlaceholders(value)];
    return [name, hidden.hide(monitorKey, ['headers', name], value)];
  });
  return Object.fromEntries(shown);
}

/** A monitor to be written: fields by their names in the order of the documentation, texts as they are to stand in the file. */
export type WrittenMonitor = Readonly<Record<string, unknown>> & { readonly externalId: string };

/** The text of a `tocsin.yaml`. */
export function fileText(source: string, monitors: readonly WrittenMonitor[]): string {
  return new Document({ source, monitors }).toString({ lineWidth: 0, singleQuote: true });
}

const DEFAULTS: Readonly<Record<string, unknown>> = createMonitorSchema.parse({
  name: '-',
  url: 'https://example.com',
});

/** Those fields that are not as they would be without being named, the key first. */
export function ownFields(
  externalId: string,
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> & { externalId: string } {
  const named = Object.keys(createMonitorSchema.shape).filter(
    (field) =>
      field !== 'externalId' &&
      field !== 'source' &&
      fields[field] !== undefined &&
      JSON.stringify(fields[field]) !== JSON.stringify(DEFAULTS[field]),
  );
  return { externalId, ...Object.fromEntries(named.map((field) => [field, fields[field]])) };
}

const MOST_CHARACTERS = 100;

/** A key made of a name that no other of `taken` is; it is added to them. */
export function keyFor(name: string, taken: Set<string>): string {
  const words = asciiWords(name, '-', MOST_CHARACTERS) || 'monitor';
  let key = words;
  for (let count = 2; taken.has(key); count += 1) key = `${words}-${count}`;
  taken.add(key);
  return key;
}

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
