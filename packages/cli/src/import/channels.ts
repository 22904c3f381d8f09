import { channelSetEntrySchema } from '@tocsin/contracts/channels/channel';
import { toFieldErrors } from '@tocsin/contracts/field-errors';
import { keyFor, type PlainMonitor } from '../files/write-monitors.ts';
import { type ImportedChannel, seconds } from './translation.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Fields of a channel, or why there is none. */
export type Receiver = Fields | string;

/** @param reminder seconds between reminders, or 0 @param remarks receives receivers without an equivalent */
export function toChannel(
  name: string,
  receiver: Receiver,
  reminder: number,
  remarks: string[],
): ImportedChannel[] {
  if (typeof receiver === 'string') {
    remarks.push(`not imported: alerts by ${name}, because ${receiver}`);
    return [];
  }
  const remindAfter = seconds(reminder || undefined, 'remindAfter', remarks);
  return [{ name, fields: { events: ['monitor.down', 'monitor.up'], ...receiver, remindAfter } }];
}

export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';

/**
 * Makes one channel of all equal receivers, and skips channels that the API would reject.
 * @param replaceVariables makes a URL with variables valid, or null if the tool has no variables
 */
export function combineChannels(
  monitors: readonly { readonly externalId: string; readonly channels: readonly ImportedChannel[] }[],
  replaceVariables: ((url: string) => string) | null,
): { channels: PlainMonitor[]; remarks: string[] } {
  const receivers = monitors.flatMap(({ externalId, channels }) =>
    channels.map((channel) => ({ externalId, channel, key: JSON.stringify(channel) })),
  );
  const taken = new Set<string>();
  const remarks: string[] = [];
  // Sorted keys make externalIds independent of the order of the monitors.
  const keys = [...new Set(receivers.map(({ key }) => key))].toSorted();
  const channels = keys.flatMap((key) => {
    const equal = receivers.filter((one) => one.key === key);
    const { name = '', fields: given = {} } = equal[0]?.channel ?? {};
    const monitorExternalIds = [...new Set(equal.map(({ externalId }) => externalId))];
    const fields = { name, ...given, monitorExternalIds };
    const url = replaceVariables === null ? given['url'] : replaceVariables(String(given['url']));
    const { error } = channelSetEntrySchema.safeParse({ externalId: 'channel', ...fields, url });
    if (error === undefined) return [{ externalId: keyFor(name, taken), fields }];
    const problems = toFieldErrors(error.issues, channelSetEntrySchema);
    remarks.push(...problems.map(({ path, message }) => `channel ${name}: skipped: ${path} ${message}`));
    return [];
  });
  return { channels, remarks };
}

/** Liquid for text within a JSON string. The filter `json` escapes and quotes it. */
export const MONITOR_NAME = `{{ monitorName | json | remove_first: '"' | remove_last: '"' }}`;

export function byStatus(down: unknown, up: unknown): string {
  const [whenDown, whenUp] = [down, up].map((text) => JSON.stringify(text).slice(1, -1));
  return `{% if status == "DOWN" %}${whenDown}{% else %}${whenUp}{% endif %}`;
}

/**
 * Replaces placeholders in the strings of a JSON document with Liquid.
 * @param toLiquid returns undefined for unknown placeholders
 * @returns why there is no template
 */
export function toTemplate(
  body: unknown,
  placeholder: RegExp,
  toLiquid: (found: string) => string | undefined,
): { template: string } | string {
  const text = String(body);
  const unknown = [...text.matchAll(placeholder)].find(([found]) => toLiquid(found) === undefined);
  if (unknown !== undefined) return `its body uses ${unknown[0]}`;
  try {
    JSON.parse(text.replaceAll(placeholder, 'x'));
  } catch {
    return 'its body is not JSON';
  }
  return { template: text.replaceAll(placeholder, (found) => toLiquid(found) ?? '') };
}
