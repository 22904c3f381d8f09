import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ChannelSetResult, MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { mapTexts } from '../files/interpolate.ts';
import type { FileEntry, FileSet } from '../files/load-sets.ts';
import { maskUrls } from '../terminal/mask-output.ts';

export type Values = Readonly<Record<string, unknown>>;
/** Current monitors and channels by ID. */
export type Before = ReadonlyMap<string, Monitor | Channel>;

/** `from` and `to` are masked. Both are missing if no value can be shown. */
export interface Change {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

const MASK = '***';
/** The API returns IDs instead of externalIds. The other fields may be secret. */
const HIDDEN_FIELDS: ReadonlySet<string> = new Set(['headers', 'body', 'secret', 'monitorExternalIds']);
/** Texts of these fields are no secrets, because only certain words are valid. */
const VOCABULARY: ReadonlySet<string> = new Set(['method', 'type', 'regions', 'operator']);

/** Fields that contain only a URL. In other texts, a URL ends at a quote. */
const URL_FIELDS: ReadonlySet<string> = new Set(['url', 'runbookUrl']);

/** The value in the file with variables as written, without queries of URLs. */
export function shownValue({ hidden, fields }: FileEntry<Values>, field: string): unknown {
  return mapTexts(hidden.get(field) ?? fields[field] ?? null, (text) =>
    URL_FIELDS.has(field) ? maskUrls(text.replace(/[?#].*$/s, '?***')) : maskUrls(text),
  );
}

export function changeOf(
  field: string,
  before: Values | undefined,
  after: FileEntry<Values> | undefined,
): Change {
  if (before === undefined || after === undefined || HIDDEN_FIELDS.has(field)) return { field };
  const to = shownValue(after, field);
  const key = after.hidden.has(field) ? '' : field;
  return { field, from: maskOld(before[field] ?? null, after.fields[field], to, key), to };
}

/**
 * Masks texts of an old value that differ from the new value, because they may come from a variable that the file no longer contains. The
 * beginning that both share is shown.
 * @param after the new value
 * @param shown the new value as it is shown
 */
function maskOld(before: unknown, after: unknown, shown: unknown, key: string): unknown {
  if (typeof before === 'string') {
    if (before === after) return shown;
    if (VOCABULARY.has(key)) return before;
    const literal = typeof shown === 'string' ? (shown.split('${')[0] ?? '') : '';
    let shared = 0;
    while (shared < literal.length && literal[shared] === before[shared]) shared += 1;
    return `${before.slice(0, shared)}${MASK}`;
  }
  if (Array.isArray(before))
    return before.map((item, index) =>
      maskOld(item, partOf(after, String(index)), partOf(shown, String(index)), key),
    );
  if (typeof before !== 'object' || before === null) return before;
  return Object.fromEntries(
    Object.entries(before).map(([part, value]) => [
      part,
      maskOld(value, partOf(after, part), partOf(shown, part), part),
    ]),
  );
}

function partOf(value: unknown, part: string): unknown {
  return (value as Values | null | undefined)?.[part];
}

/** Adds what the text of a plan shows to the result of the API. */
export function planJson(result: MonitorSetResult, { monitors, channels }: FileSet, before: Before): object {
  const part = (
    { created, updated }: Pick<MonitorSetResult | ChannelSetResult, 'created' | 'updated'>,
    entries: readonly FileEntry<Values>[],
  ): object => {
    const after = new Map(entries.map((entry) => [entry.externalId, entry]));
    return {
      created: created.map((one) => {
        const entry = after.get(one.externalId);
        return {
          ...one,
          ...(entry && { name: shownValue(entry, 'name'), url: shownValue(entry, 'url') }),
        };
      }),
      updated: updated.map((one) => ({
        ...one,
        changes: one.fields.map((field) => changeOf(field, before.get(one.id), after.get(one.externalId))),
      })),
    };
  };
  return {
    ...result,
    ...part(result, monitors),
    ...(result.channels && { channels: { ...result.channels, ...part(result.channels, channels ?? []) } }),
  };
}
