import { type Labels, labelTexts } from '@tocsin/contracts/labels/labels';
import { formatSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { ChannelSetResult, MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Colors } from 'picocolors/types.js';
import { plain, shellWord } from '../terminal/text.ts';
import { type Before, type Change, type Planned, showChanges, type ShownChanges } from './plan-changes.ts';

const MAX_VALUE_CHARACTERS = 60;
/** Maximum number of listed entries for each kind of change. */
const MAX_LISTED = 200;
const MAX_UNLISTED = 5;

type Part = MonitorSetResult | ChannelSetResult;

/**
 * Formats the planned changes of a source.
 * @param before current monitors and channels by ID. Without an entry, only the names of changed fields are shown
 */
export function planText(
  { result, monitors, channels, isUnlisted }: Planned & { readonly isUnlisted: boolean },
  before: Before,
  colors: Colors,
): string {
  return [
    colors.bold(plain(`source ${result.source}`)) + (isUnlisted ? ', which is in no file' : ''),
    ...partLines('', result, showChanges(result, monitors, before), colors),
    ...(hasChannels(result.channels)
      ? partLines('channel', result.channels, showChanges(result.channels, channels ?? [], before), colors)
      : []),
  ].join('\n');
}

/** @param noun empty for monitors */
function partLines(
  noun: '' | 'channel',
  part: Part,
  { created, updated }: ShownChanges,
  colors: Colors,
): string[] {
  const { deleted, unchanged, unlisted } = part;
  const [one, all] = noun === '' ? ['', ''] : ['channel ', 'channels: '];
  const unlistedNames = unlisted.slice(0, MAX_UNLISTED).map(({ id, externalId }) => externalId ?? id);
  const more = unlisted.length > MAX_UNLISTED ? ', …' : '';
  const kept = `${unlisted.length} in no file, kept without --prune: ${unlistedNames.join(', ')}${more}`;
  return [
    ...list(created, ({ externalId, url }) =>
      colors.green(plain(`  + ${one}${externalId}${url === null ? '' : `  ${url}`}`)),
    ),
    ...list(updated, ({ externalId, changes }) =>
      colors.yellow(plain(`  ~ ${one}${externalId}  ${changes.map(changeText).join(', ')}`)),
    ),
    ...list(deleted, ({ id, externalId }) => colors.red(plain(`  - ${one}${externalId ?? id}`))),
    `  ${all}${created.length} to create, ${updated.length} to change, ${deleted.length} to delete, ${unchanged.length} unchanged`,
    ...(unlisted.length === 0 ? [] : [plain(`  ${all}${kept}`)]),
    ...renameLines(noun, part, colors),
  ];
}

/** Warns about probable renames: what applying would do, and which command renames the entry instead. */
function renameLines(noun: '' | 'channel', { created, deleted }: Part, colors: Colors): string[] {
  const renames = created.flatMap(({ externalId: to, probablyRenamedFrom: old }) => (old ? { to, old } : []));
  return list(renames, ({ to, old }) => {
    const from = old.externalId ?? old.id;
    const isDeleted = deleted.some(({ id }) => id === old.id);
    const effect = 'createdAt' in old ? monitorEffect(to, old, isDeleted) : channelEffect(isDeleted);
    const note = `  ${to} is probably ${from} under a new externalId. ${effect} To rename it instead, first run:`;
    const command = `tocsin rename ${noun === '' ? '' : '--channel '}${shellWord(from)} ${shellWord(to)}`;
    return `${colors.yellow(plain(note))}\n${plain(`    ${command}`)}`;
  });
}

type OldMonitor = NonNullable<MonitorSetResult['created'][number]['probablyRenamedFrom']>;

/** Describes what applying the plan does instead of a rename. */
function monitorEffect(to: string, { createdAt, hasOpenIncident }: OldMonitor, isDeleted: boolean): string {
  const history = `history since ${createdAt.slice(0, 10)}`;
  if (!isDeleted) return `Applying keeps both, and ${to} starts without the ${history}.`;
  const incident = hasOpenIncident ? ', resolves its incident, and alerts again if it is still DOWN' : '';
  return `Applying deletes its ${history}${incident}.`;
}

function channelEffect(isDeleted: boolean): string {
  return isDeleted
    ? 'Applying deletes its secret and the webhooks that are due.'
    : 'Applying keeps both, so the receiver may get every webhook twice.';
}

/** True if the source or the set has channels. */
function hasChannels(channels: ChannelSetResult | undefined): channels is ChannelSetResult {
  return channels !== undefined && Object.values(channels).some(({ length }) => length > 0);
}

/** Summarizes applied changes in one line for monitors and one for channels, if there are any. */
export function resultText(result: MonitorSetResult): string {
  const { source, channels } = result;
  const lines = [`source ${source}: ${countsText(result)}`];
  if (hasChannels(channels)) lines.push(`channels of ${source}: ${countsText(channels)}`);
  return lines.map(plain).join('\n');
}

function countsText({ created, updated, deleted, unchanged }: Part): string {
  return `${created.length} created, ${updated.length} changed, ${deleted.length} deleted, ${unchanged.length} unchanged`;
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
