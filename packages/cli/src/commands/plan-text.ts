import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { Colors } from 'picocolors/types.js';
import type { FileSet } from '../files/load-sets.ts';
import { plain } from '../terminal/text.ts';

/** Longer values say nothing at a glance. */
const MOST_CHARACTERS = 60;
/** Monitors of one kind that are listed one by one. */
const MOST_LISTED = 200;

/**
 * What is to be done with the monitors of a source, for people.
 * @param before the monitors as they are, by id; those missing are told by the names of their fields alone
 */
export function planText(
  result: MonitorSetResult,
  { monitors }: FileSet,
  before: ReadonlyMap<string, Monitor>,
  colors: Colors,
): string {
  const wanted = new Map(monitors.map((monitor) => [monitor.externalId, monitor]));
  const lines = [
    ...listed(result.created, ({ externalId }) => {
      const monitor = wanted.get(externalId);
      const url = monitor?.hidden.get('url') ?? monitor?.fields['url'];
      return colors.green(plain(`  + ${externalId}${typeof url === 'string' ? `  ${url}` : ''}`));
    }),
    ...listed(result.updated, ({ id, externalId, fields }) => {
      const changes = fields.map((field) => changeText(field, before.get(id), wanted.get(externalId)));
      return colors.yellow(plain(`  ~ ${externalId}  ${changes.join(', ')}`));
    }),
    ...listed(result.deleted, ({ id, externalId }) => colors.red(plain(`  - ${externalId ?? id}`))),
  ];
  const counts = [
    `${result.created.length} to create`,
    `${result.updated.length} to change`,
    `${result.deleted.length} to delete`,
    `${result.unchanged.length} unchanged`,
  ];
  return [
    colors.bold(plain(`source ${result.source}`)),
    ...lines,
    `  ${counts.join(', ')}`,
    ...unlistedText(result),
  ].join('\n');
}

/** What was done, in a line. */
export function resultText(result: MonitorSetResult): string {
  const { created, updated, deleted, unchanged } = result;
  return plain(
    `source ${result.source}: ${created.length} created, ${updated.length} changed, ${deleted.length} deleted, ${unchanged.length} unchanged`,
  );
}

function unlistedText({ unlisted }: MonitorSetResult): string[] {
  if (unlisted.length === 0) return [];
  const shown = unlisted
    .slice(0, 5)
    .map(({ id, externalId }) => externalId ?? id)
    .join(', ');
  return [
    plain(
      `  ${unlisted.length} in no file, kept without --prune: ${shown}${unlisted.length > 5 ? ', …' : ''}`,
    ),
  ];
}

function listed<Item>(items: readonly Item[], toText: (item: Item) => string): string[] {
  const lines = items.slice(0, MOST_LISTED).map(toText);
  return items.length > MOST_LISTED ? [...lines, `  … and ${items.length - MOST_LISTED} more`] : lines;
}

function changeText(
  field: string,
  before: Monitor | undefined,
  after: FileSet['monitors'][number] | undefined,
): string {
  // What may be secret is not shown.
  const isSecret = field === 'headers' || field === 'body' || after?.hidden.has(field) === true;
  if (before === undefined || isSecret) return field;
  const [old, next] = [valueText(before[field as keyof Monitor]), valueText(after?.fields[field])];
  return old === null || next === null ? field : `${field} ${old} → ${next}`;
}

function valueText(value: unknown): string | null {
  if (value === undefined || value === null) return 'default';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MOST_CHARACTERS ? null : text;
}
