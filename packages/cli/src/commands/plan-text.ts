import { type Labels, labelTexts } from '@tocsin/contracts/labels/labels';
import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { Colors } from 'picocolors/types.js';
import type { FileMonitor, FileSet } from '../files/load-sets.ts';
import { plain } from '../terminal/text.ts';

const MAX_VALUE_CHARACTERS = 60;
/** Monitors per kind of change that are listed one by one. */
const MAX_LISTED = 200;
const MAX_UNLISTED = 5;

/**
 * The planned changes of a source as text.
 * @param before the current monitors by id; for missing ones only the names of the changed fields are shown
 */
export function planText(
  result: MonitorSetResult,
  { monitors, isUnlisted }: FileSet & { readonly isUnlisted: boolean },
  before: ReadonlyMap<string, Monitor>,
  colors: Colors,
): string {
  const { source, created, updated, deleted, unchanged, unlisted } = result;
  const after = new Map(monitors.map((monitor) => [monitor.externalId, monitor]));
  const unlistedNames = unlisted.slice(0, MAX_UNLISTED).map(({ id, externalId }) => externalId ?? id);
  const more = unlisted.length > MAX_UNLISTED ? ', …' : '';
  return [
    colors.bold(plain(`source ${source}`)) + (isUnlisted ? ', which is in no file' : ''),
    ...list(created, ({ externalId }) => {
      const monitor = after.get(externalId);
      const url = monitor?.hidden.get('url') ?? monitor?.fields.url;
      return colors.green(plain(`  + ${externalId}${typeof url === 'string' ? `  ${url}` : ''}`));
    }),
    ...list(updated, ({ id, externalId, fields }) => {
      const changes = fields.map((field) => changeText(field, before.get(id), after.get(externalId)));
      return colors.yellow(plain(`  ~ ${externalId}  ${changes.join(', ')}`));
    }),
    ...list(deleted, ({ id, externalId }) => colors.red(plain(`  - ${externalId ?? id}`))),
    `  ${created.length} to create, ${updated.length} to change, ${deleted.length} to delete, ${unchanged.length} unchanged`,
    ...(unlisted.length === 0
      ? []
      : [plain(`  ${unlisted.length} in no file, kept without --prune: ${unlistedNames.join(', ')}${more}`)]),
  ].join('\n');
}

/** The applied changes in one line. */
export function resultText({ source, created, updated, deleted, unchanged }: MonitorSetResult): string {
  return plain(
    `source ${source}: ${created.length} created, ${updated.length} changed, ${deleted.length} deleted, ${unchanged.length} unchanged`,
  );
}

function list<Item>(items: readonly Item[], toText: (item: Item) => string): string[] {
  const lines = items.slice(0, MAX_LISTED).map(toText);
  return items.length > MAX_LISTED ? [...lines, `  … and ${items.length - MAX_LISTED} more`] : lines;
}

function changeText(field: string, before: Monitor | undefined, after: FileMonitor | undefined): string {
  // Values that may be secret are not shown.
  const isSecret = field === 'headers' || field === 'body' || after?.hidden.has(field) === true;
  if (before === undefined || isSecret) return field;
  if (field === 'labels') return `labels ${labelChanges(before.labels, after?.fields.labels ?? {})}`;
  const old = valueText(before[field as keyof Monitor]);
  const next = valueText(after?.fields[field as keyof FileMonitor['fields']]);
  return old === null || next === null ? field : `${field} ${old} → ${next}`;
}

/** Removed labels with a minus, added ones with a plus, such as `-tier=web +tier=api`. */
function labelChanges(before: Labels, after: Labels): string {
  const [old, next] = [labelTexts(before), labelTexts(after)];
  return [
    ...old.filter((label) => !next.includes(label)).map((label) => `-${label}`),
    ...next.filter((label) => !old.includes(label)).map((label) => `+${label}`),
  ].join(' ');
}

/** Null if the text is too long. */
function valueText(value: unknown): string | null {
  if (value === undefined || value === null) return 'default';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_VALUE_CHARACTERS ? null : text;
}
