import { escapePlaceholders } from './interpolate.ts';
import { hideHeaders } from './header-variables.ts';
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
  /** Whether the values of headers stand in the file. */
  readonly withSecrets: boolean;
  /** Whether `${NAME}` is a variable where the monitors come from, too, and stays one. */
  readonly hasVariables?: boolean;
}

export function writeMonitors(
  source: string,
  monitors: readonly PlainMonitor[],
  { withSecrets, hasVariables = false }: WriteOptions,
): WrittenFile {
  const toText = hasVariables ? asItIs : escapePlaceholders;
  const isVariable = (value: string): boolean => hasVariables && value.includes('${');
  const taken = new Set<string>();
  const variables = new Map<string, string>();
  const written = monitors.map(({ externalId, fields }): WrittenMonitor => {
    const { headers, ...rest } = fields;
    const own = mapTexts(ownFields(externalId, rest), toText) as WrittenMonitor;
    const given = (headers ?? {}) as Readonly<Record<string, string>>;
    if (Object.keys(given).length === 0) return own;
    if (withSecrets) return { ...own, headers: mapTexts(given, toText) };
    const hidden = hideHeaders(externalId, given, taken, isVariable);
    for (const [name, value] of hidden.variables) variables.set(name, value);
    return { ...own, headers: hidden.headers };
  });
  return { text: fileText(escapePlaceholders(source), written), variables };
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
