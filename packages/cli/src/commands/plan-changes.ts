import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ChannelSetResult, MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { containsVariable, mapTexts } from '../files/interpolate.ts';
import type { FileEntry, FileSet } from '../files/load-sets.ts';
import { maskUrls } from '../terminal/mask-output.ts';

type Values = Readonly<Record<string, unknown>>;
/** Current monitors and channels by ID. */
export type Before = ReadonlyMap<string, Monitor | Channel>;

/** A set of the files, and its result in the API. */
export interface Planned extends FileSet {
  readonly result: MonitorSetResult;
}

/** `from` and `to` are masked. Both are missing if no value can be shown. */
export interface Change {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** The API returns IDs instead of externalIds. The other fields may be secret. */
const HIDDEN_FIELDS: ReadonlySet<string> = new Set([
  'headers',
  'body',
  'tls',
  'secret',
  'routingKey',
  'monitorExternalIds',
]);
/** Old texts of these fields are no secrets, because only certain words are valid. */
const VOCABULARY = /^(method|type|regions\.\d+|selector\.matchExpressions\.\d+\.operator)$/;
/** Fields that contain only a URL. In other texts, a URL ends at a quote. */
const URL_FIELDS: ReadonlySet<string> = new Set(['url', 'runbookUrl']);

export interface ShownChanges {
  readonly created: readonly { readonly externalId: string; readonly url: string | null }[];
  readonly updated: readonly { readonly externalId: string; readonly changes: readonly Change[] }[];
}

/** Adds the values that a plan shows to a result of the API. */
export function showChanges(
  { created, updated }: Pick<MonitorSetResult | ChannelSetResult, 'created' | 'updated'>,
  entries: readonly FileEntry<Values>[],
  before: Before,
): ShownChanges {
  const after = new Map(entries.map((entry) => [entry.externalId, entry]));
  const shown = (externalId: string, field: 'externalId' | 'name' | 'url'): string | null =>
    shownValue(after.get(externalId), field) as string | null;
  const nameOf = (externalId: string): string => shown(externalId, 'externalId') ?? externalId;
  return {
    created: created.map((one) => ({
      ...one,
      externalId: nameOf(one.externalId),
      name: shown(one.externalId, 'name'),
      url: shown(one.externalId, 'url'),
    })),
    updated: updated.map((one) => ({
      ...one,
      externalId: nameOf(one.externalId),
      changes: one.fields.map((field) => changeOf(field, before.get(one.id), after.get(one.externalId))),
    })),
  };
}

/** Adds what the text of a plan shows to the result of the API. */
export function planJson({ result, monitors, channels }: Planned, before: Before): object {
  return {
    ...result,
    ...showChanges(result, monitors, before),
    ...(result.channels && {
      channels: { ...result.channels, ...showChanges(result.channels, channels ?? [], before) },
    }),
  };
}

/** Returns the value in the file, with variables as written and without queries of URLs. */
function shownValue(entry: FileEntry<Values> | undefined, field: string): unknown {
  const written = entry?.written[field];
  return mapTexts(containsVariable(written) ? written : (entry?.fields[field] ?? null), (text) =>
    maskUrls(URL_FIELDS.has(field) ? text.replace(/[?#].*$/s, '?***') : text),
  );
}

/**
 * Masks old texts that differ from the new ones, because they may come from a variable that the file no longer contains. The beginning that
 * both share is shown.
 */
function changeOf(field: string, before: Values | undefined, after: FileEntry<Values> | undefined): Change {
  if (before === undefined || after === undefined || HIDDEN_FIELDS.has(field)) return { field };
  const to = shownValue(after, field);
  const from = mapTexts(before[field] ?? null, (text, path) => {
    const shown = partAt(to, path);
    if (text === partAt(after.fields[field], path)) return String(shown);
    if (VOCABULARY.test([field, ...path].join('.'))) return text;
    const literal = typeof shown === 'string' ? (shown.split('${')[0] ?? '') : '';
    let shared = 0;
    while (shared < literal.length && literal[shared] === text[shared]) shared += 1;
    return `${text.slice(0, shared)}***`;
  });
  return { field, from, to };
}

function partAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((part, key) => (part as Values | null | undefined)?.[key], value);
}
