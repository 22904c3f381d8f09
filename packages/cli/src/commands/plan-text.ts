import { type Labels, labelTexts } from '@tocsin/contracts/labels/labels';
import { formatSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { ChannelSetResult, MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Colors } from 'picocolors/types.js';
import type { FileEntry, FileSet } from '../files/load-sets.ts';
import { plain, shellWord } from '../terminal/text.ts';
import { type Before, type Change, changeOf, shownValue, type Values } from './plan-changes.ts';

const MAX_VALUE_CHARACTERS = 60;
/** Maximum number of listed entries for each kind of change. */
const MAX_LISTED = 200;
const MAX_UNLISTED = 5;

type Kind = 'monitor' | 'channel';

/**
 * Formats the planned changes of a source.
 * @param before current monitors and channels by ID. Without an entry, only the names of changed fields are shown
 */
export function planText(
  result: MonitorSetResult,
  { monitors, channels, isUnlisted }: FileSet & { readonly isUnlisted: boolean },
  before: Before,
  colors: Colors,
): string {
  return [
    colors.bold(plain(`source ${result.source}`)) + (isUnlisted ? ', which is in no file' : ''),
    ...partLines('monitor', result, monitors, before, colors),
    ...renameLines('monitor', monitorRenames(result), colors),
    ...(hasChannels(result.channels)
      ? [
          ...partLines('channel', result.channels, channels ?? [], before, colors),
          ...renameLines('channel', channelRenames(result.channels), colors),
        ]
      : []),
  ].join('\n');
}

function partLines(
  kind: Kind,
  part: MonitorSetResult | ChannelSetResult,
  entries: readonly FileEntry<Values>[],
  before: Before,
  colors: Colors,
): string[] {
  const { updated, deleted, unchanged, unlisted } = part;
  const created: readonly { readonly externalId: string }[] = part.created;
  const noun = kind === 'channel' ? 'channel ' : '';
  const all = kind === 'channel' ? 'channels: ' : '';
  const after = new Map(entries.map((entry) => [entry.externalId, entry]));
  const nameOf = (externalId: string): string => {
    const written = after.get(externalId)?.hidden.get('externalId');
    return typeof written === 'string' ? written : externalId;
  };
  const unlistedNames = unlisted.slice(0, MAX_UNLISTED).map(({ id, externalId }) => externalId ?? id);
  const more = unlisted.length > MAX_UNLISTED ? ', …' : '';
  return [
    ...list(created, ({ externalId }) => {
      const entry = after.get(externalId);
      const url = entry === undefined ? null : shownValue(entry, 'url');
      return colors.green(
        plain(`  + ${noun}${nameOf(externalId)}${typeof url === 'string' ? `  ${url}` : ''}`),
      );
    }),
    ...list(updated, ({ id, externalId, fields }) => {
      const changes = fields.map((field) =>
        changeText(changeOf(field, before.get(id), after.get(externalId))),
      );
      return colors.yellow(plain(`  ~ ${noun}${nameOf(externalId)}  ${changes.join(', ')}`));
    }),
    ...list(deleted, ({ id, externalId }) => colors.red(plain(`  - ${noun}${externalId ?? id}`))),
    `  ${all}${created.length} to create, ${updated.length} to change, ${deleted.length} to delete, ${unchanged.length} unchanged`,
    ...(unlisted.length === 0
      ? []
      : [
          plain(
            `  ${all}${unlisted.length} in no file, kept without --prune: ${unlistedNames.join(', ')}${more}`,
          ),
        ]),
  ];
}

interface Rename {
  readonly from: string;
  readonly to: string;
  /** Describes what applying the plan does instead of a rename. */
  readonly effect: string;
}

/** Finds monitors whose externalId has probably changed. */
function monitorRenames({ created, deleted }: MonitorSetResult): Rename[] {
  const deletedIds = new Set(deleted.map(({ id }) => id));
  return created.flatMap(({ externalId: to, probablyRenamedFrom: old }) => {
    if (old === undefined) return [];
    const history = `history since ${old.createdAt.slice(0, 10)}`;
    const incident = old.hasOpenIncident
      ? ', resolves its incident, and alerts again if it is still DOWN'
      : '';
    const effect = deletedIds.has(old.id)
      ? `Applying deletes its ${history}${incident}.`
      : `Applying keeps both, and ${to} starts without the ${history}.`;
    return { from: old.externalId ?? old.id, to, effect };
  });
}

/** Finds channels whose externalId has probably changed. */
function channelRenames({ created, deleted }: ChannelSetResult): Rename[] {
  const deletedIds = new Set(deleted.map(({ id }) => id));
  return created.flatMap(({ externalId: to, probablyRenamedFrom: old }) => {
    if (old === undefined) return [];
    const effect = deletedIds.has(old.id)
      ? 'Applying deletes its secret and the webhooks that are due.'
      : 'Applying keeps both, so the receiver may get every webhook twice.';
    return { from: old.externalId ?? old.id, to, effect };
  });
}

/** Warns about probable renames: what applying would do, and which command renames the entry instead. */
function renameLines(kind: Kind, renames: readonly Rename[], colors: Colors): string[] {
  return list(renames, ({ from, to, effect }) => {
    const note = `  ${to} is probably ${from} under a new externalId. ${effect} To rename it instead, first run:`;
    const command = `tocsin rename ${kind === 'channel' ? '--channel ' : ''}${shellWord(from)} ${shellWord(to)}`;
    return `${colors.yellow(plain(note))}\n${plain(`    ${command}`)}`;
  });
}

type Counted = Readonly<Record<'created' | 'updated' | 'deleted' | 'unchanged', readonly unknown[]>>;

/** True if the source or the set has channels. */
function hasChannels(channels: ChannelSetResult | undefined): channels is ChannelSetResult {
  return channels !== undefined && Object.values(channels).some(({ length }) => length > 0);
}

const countsOf = ({ created, updated, deleted, unchanged }: Counted): string =>
  `${created.length} created, ${updated.length} changed, ${deleted.length} deleted, ${unchanged.length} unchanged`;

/** Summarizes applied changes in one line for monitors and one for channels, if there are any. */
export function resultText({ source, channels, ...monitors }: MonitorSetResult): string {
  const lines = [`source ${source}: ${countsOf(monitors)}`];
  if (hasChannels(channels)) lines.push(`channels of ${source}: ${countsOf(channels)}`);
  return lines.map(plain).join('\n');
}

export function secretsText(created: ChannelSetResult['created']): string {
  return [
    'Generated secrets, shown only once. Store them where webhooks are verified, and keep this output private:',
    ...created.map(({ externalId, secret }) => plain(`  channel ${externalId}: ${secret ?? ''}`)),
  ].join('\n');
}

function list<Item>(items: readonly Item[], toText: (item: Item) => string): string[] {
  const lines = items.slice(0, MAX_LISTED).map(toText);
  return items.length > MAX_LISTED ? [...lines, `  … and ${items.length - MAX_LISTED} more`] : lines;
}

function changeText({ field, from, to }: Change): string {
  if (to === undefined) return field;
  if (field === 'labels') return `labels ${labelChanges((from ?? {}) as Labels, (to ?? {}) as Labels)}`;
  const toText = field === 'selector' ? selectorText : valueText;
  const [old, next] = [toText(from), toText(to)];
  return old === null || next === null ? field : `${field} ${old} → ${next}`;
}

/** Formats as `-tier=web +tier=api`. */
function labelChanges(before: Labels, after: Labels): string {
  const [old, next] = [labelTexts(before), labelTexts(after)];
  return [
    ...old.filter((label) => !next.includes(label)).map((label) => `-${label}`),
    ...next.filter((label) => !old.includes(label)).map((label) => `+${label}`),
  ].join(' ');
}

function selectorText(value: unknown): string | null {
  return valueText(value ? formatSelector(value) || 'every monitor' : 'none');
}

/** Returns null if the text is too long. */
function valueText(value: unknown): string | null {
  if (value === undefined || value === null) return 'default';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_VALUE_CHARACTERS ? null : text;
}
