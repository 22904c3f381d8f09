import { createHash } from 'node:crypto';
import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import { createMonitorSchema, MONITOR_DEFAULTS } from '@tocsin/contracts/monitors/monitor';
import { asciiWords, secretVariable } from '@tocsin/contracts/words';
import { Document } from 'yaml';
import { CliError } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { escapePlaceholders, mapTexts } from './interpolate.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A monitor to write, with its fields as the API knows them. */
export interface PlainMonitor {
  readonly externalId: string;
  readonly fields: Fields;
}

interface WrittenFile {
  readonly text: string;
  /** The environment variables that the file needs, with their values. */
  readonly variables: ReadonlyMap<string, string>;
}

interface WriteOptions {
  /** Whether the file contains values of headers, and bodies. */
  readonly withSecrets: boolean;
  /** Whether `${NAME}` is a variable in the given fields already, and stays one. */
  readonly hasVariables?: boolean;
  /** Channels as in a set, without secrets. */
  readonly channels?: readonly Fields[];
  /** The server whose JSON Schema editors use. */
  readonly schemaOf?: string;
}

/** The text of a `tocsin.yaml`. */
export function writeMonitors(
  source: string,
  monitors: readonly PlainMonitor[],
  { withSecrets, hasVariables = false, channels = [], schemaOf }: WriteOptions,
): WrittenFile {
  const toText = hasVariables ? (text: string): string => text : escapePlaceholders;
  const hidden = new HiddenValues(source);
  const hide = (externalId: string, path: readonly [string, ...string[]], value: string): string =>
    withSecrets || (hasVariables && value.includes('${'))
      ? toText(value)
      : hidden.hide(externalId, path, value);
  const written = monitors.map(({ externalId, fields }) => {
    const { headers, body, ...rest } = fields;
    const shownHeaders = Object.entries((headers ?? {}) as Readonly<Record<string, string>>).map(
      ([name, value]): [string, string] => {
        const isPublic = PUBLIC_HEADERS.has(name.toLowerCase()) && value !== HIDDEN_SECRET;
        return [name, isPublic ? toText(value) : hide(externalId, ['headers', name], value)];
      },
    );
    return {
      ...(mapTexts({ externalId, ...nonDefaultFields(rest) }, toText) as Fields),
      ...(shownHeaders.length > 0 && { headers: Object.fromEntries(shownHeaders) }),
      ...(typeof body === 'string' && { body: hide(externalId, ['body'], body) }),
    };
  });
  const document = new Document({
    source: escapePlaceholders(source),
    monitors: written,
    ...(channels.length > 0 && { channels: channels.map((channel) => mapTexts(channel, toText)) }),
  });
  const schema =
    schemaOf === undefined
      ? ''
      : `# yaml-language-server: $schema=${schemaOf.replace(/\/+$/, '')}/schemas/tocsin.json\n`;
  return {
    text: schema + document.toString({ lineWidth: 0, singleQuote: true }),
    variables: hidden.variables,
  };
}

/** Whether the key may not read the body, or the values of the headers. */
export function hasHiddenSecret({ headers, body }: Fields): boolean {
  return body === HIDDEN_SECRET || Object.values((headers ?? {}) as Fields).includes(HIDDEN_SECRET);
}

/** Lists the variables that must be set to apply the file. */
export function noteVariables(variables: WrittenFile['variables'], { note }: Pick<Terminal, 'note'>): void {
  if (variables.size === 0) return;
  note(
    `The file does not contain bodies and values of headers. To apply it, set: ${[...variables.keys()].join(', ')}. --secrets writes the values into the file.`,
  );
}

/** In the order of the documentation, always with the required fields. */
function nonDefaultFields(fields: Fields): Record<string, unknown> {
  const defaults: Fields = MONITOR_DEFAULTS;
  const names = Object.keys(createMonitorSchema.shape).filter(
    (name) =>
      name !== 'externalId' &&
      name !== 'source' &&
      fields[name] !== undefined &&
      JSON.stringify(fields[name]) !== JSON.stringify(defaults[name]),
  );
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

const MAX_KEY_CHARACTERS = 100;

/** A new externalId made from a name. It is added to `taken`. */
export function keyFor(name: string, taken: Set<string>): string {
  const words = asciiWords(name, '-', MAX_KEY_CHARACTERS) || 'monitor';
  let key = words;
  for (let count = 2; taken.has(key); count += 1) key = `${words}-${count}`;
  taken.add(key);
  return key;
}

/** Headers whose values are not secret. */
const PUBLIC_HEADERS = new Set(['accept', 'accept-language', 'cache-control', 'content-type', 'user-agent']);
/** 64 bits of a SHA-256 hash: too many to construct a monitor that gets a chosen variable. */
const HASH_DIGITS = 16;

/** Values that environment variables replace in the file of a source. */
export class HiddenValues {
  /** The values by variable. */
  readonly variables = new Map<string, string>();
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  /**
   * Call it once for each field.
   * @param path of the field, such as `['headers', 'Authorization']`
   * @returns the text for the file
   * @throws CliError if another field has the same variable
   */
  hide(externalId: string, path: readonly [string, ...string[]], value: string): string {
    // An empty value is no secret, and a variable must not be empty.
    if (value === '') return value;
    const id = JSON.stringify([this.#source, externalId, ...path]);
    const digits = createHash('sha256').update(id).digest('hex').slice(0, HASH_DIGITS);
    const variable = secretVariable(`${externalId}_${path.at(-1)}`, digits);
    if (this.variables.has(variable))
      throw new CliError(
        `The variable ${variable} already stands for another value, so it cannot stand for ${path.join('.')} of monitor ${externalId}. Change the externalId of one monitor, or pass --secrets.`,
      );
    this.variables.set(variable, value);
    return `\${${variable}}`;
  }
}
