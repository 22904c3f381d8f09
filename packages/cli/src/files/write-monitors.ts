import { createHash } from 'node:crypto';
import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import { createMonitorSchema, MONITOR_DEFAULTS } from '@tocsin/contracts/monitors/monitor';
import { asciiWords, secretVariable } from '@tocsin/contracts/words';
import { Document } from 'yaml';
import { CliError } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { escapePlaceholders, mapTexts } from './interpolate.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A monitor, or a channel as the entry of a set without its signing secret. */
export interface PlainMonitor {
  readonly externalId: string;
  readonly fields: Fields;
}

interface WrittenFile {
  readonly text: string;
  /** Environment variables that the file requires, with values. */
  readonly variables: ReadonlyMap<string, string>;
}

interface WriteOptions {
  /** Writes header values, bodies, routing keys and TLS keys into the file. */
  readonly withSecrets: boolean;
  /** Keeps `${NAME}` in the given fields as a variable. */
  readonly hasVariables?: boolean;
  readonly channels?: readonly PlainMonitor[];
  /** Hides URLs of channels that other tools keep secret. */
  readonly hidesUrls?: boolean;
  /** URL of the server with the JSON Schema for editors. */
  readonly schemaOf?: string;
}

/** Formats a `tocsin.yaml`. */
export function writeMonitors(
  source: string,
  monitors: readonly PlainMonitor[],
  { withSecrets, hasVariables = false, channels = [], hidesUrls = false, schemaOf }: WriteOptions,
): WrittenFile {
  const toText = hasVariables ? (text: string): string => text : escapePlaceholders;
  const hidden = new HiddenValues(source);
  const hide = (externalId: string, path: readonly [string, ...string[]], value: string): string =>
    withSecrets || (hasVariables && value.includes('${'))
      ? toText(value)
      : hidden.hide(externalId, path, value);
  const write = ({ externalId, fields }: PlainMonitor, kind: 'channels' | null): Fields => {
    const { headers, body, routingKey, tls, ...rest } = fields;
    const { key, ...publicTls } = (tls ?? {}) as Fields;
    const at = (path: [string, ...string[]]): [string, ...string[]] =>
      kind === null ? path : [kind, ...path];
    const shownHeaders = Object.entries((headers ?? {}) as Readonly<Record<string, string>>).map(
      ([name, value]): [string, string] => {
        const isPublic = PUBLIC_HEADERS.has(name.toLowerCase()) && value !== HIDDEN_SECRET;
        return [name, isPublic ? toText(value) : hide(externalId, at(['headers', name]), value)];
      },
    );
    const { url, format } = rest;
    const isSecretUrl = hidesUrls && kind === 'channels' && format !== 'pagerduty';
    return {
      ...(mapTexts({ externalId, ...rest }, toText) as Fields),
      ...(isSecretUrl && { url: hide(externalId, at(['url']), String(url)) }),
      ...(shownHeaders.length > 0 && { headers: Object.fromEntries(shownHeaders) }),
      ...(typeof body === 'string' && { body: hide(externalId, ['body'], body) }),
      ...(typeof routingKey === 'string' && { routingKey: hide(externalId, at(['routingKey']), routingKey) }),
      ...(typeof tls === 'object' &&
        tls !== null && {
          tls: {
            ...(mapTexts(publicTls, toText) as Fields),
            ...(typeof key === 'string' && { key: hide(externalId, at(['tls', 'key']), key) }),
          },
        }),
    };
  };
  const written = monitors.map(({ externalId, fields }) => {
    const { headers, body } = fields;
    return write({ externalId, fields: { ...nonDefaultFields(fields), headers, body } }, null);
  });
  const document = new Document({
    source: escapePlaceholders(source),
    monitors: written,
    ...(channels.length > 0 && { channels: channels.map((channel) => write(channel, 'channels')) }),
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

/** True if the API key may not read the body, a key or header values. */
export function hasHiddenSecret({ headers, body, routingKey, tls }: Fields): boolean {
  const values = [
    body,
    routingKey,
    (tls as Fields | null | undefined)?.['key'],
    ...Object.values((headers ?? {}) as Fields),
  ];
  return values.includes(HIDDEN_SECRET);
}

export function noteVariables(variables: WrittenFile['variables'], { note }: Pick<Terminal, 'note'>): void {
  if (variables.size === 0) return;
  note(
    `The file does not contain bodies, values of headers, keys and secret URLs. To apply it, set: ${[...variables.keys()].join(', ')}. --secrets writes the values into the file.`,
  );
}

/** Returns required fields and non-default values in the order of the documentation. */
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

/** Derives a new externalId from a name, and adds it to `taken`. */
export function keyFor(name: string, taken: Set<string>): string {
  const words = asciiWords(name, '-', MAX_KEY_CHARACTERS) || 'monitor';
  let key = words;
  for (let count = 2; taken.has(key); count += 1) key = `${words}-${count}`;
  taken.add(key);
  return key;
}

const PUBLIC_HEADERS = new Set(['accept', 'accept-language', 'cache-control', 'content-type', 'user-agent']);
/** 64 bits of a SHA-256 hash, so that nobody can construct a monitor with a chosen variable. */
const HASH_DIGITS = 16;

/** Replaces values in a file with environment variables. */
export class HiddenValues {
  readonly variables = new Map<string, string>();
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  /**
   * Call this once for each field.
   * @param path path of the field, such as `['headers', 'Authorization']`
   * @returns text for the file
   * @throws CliError if another field has the same variable
   */
  hide(externalId: string, path: readonly [string, ...string[]], value: string): string {
    // An empty value is not secret, and variables must not be empty.
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
