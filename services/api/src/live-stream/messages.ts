import { parseTimestamp } from '@tocsin/contracts/fields';
import type { Digest } from '@tocsin/contracts/live-stream/digest';
import type { Event, StatusChange } from '@tocsin/contracts/monitors/events';
import { invalidFields } from '../http/errors.ts';
import { RETRY_MS } from './stream-limits.ts';

export type StreamRecord =
  | { readonly kind: 'check'; readonly record: Event }
  | { readonly kind: 'status-change'; readonly record: StatusChange };

/**
 * Position to continue from, in epoch milliseconds, or null.
 * @param queried the parameter `lastEventId`, because an `EventSource` cannot set the header
 * @throws AppError validation_failed
 */
export function parsePosition(lastEventId: string | undefined, queried: string | undefined): number | null {
  const text = lastEventId ?? queried;
  if (text === undefined) return null;
  const date = parseTimestamp(text);
  if (date !== null) return date.getTime();
  const path = lastEventId === undefined ? 'lastEventId' : 'Last-Event-ID';
  throw invalidFields([{ path, message: 'must be the id of a message of this stream' }]);
}

function formatPosition(position: number): string {
  return new Date(position).toISOString();
}

export interface Message {
  readonly recordId: string;
  readonly text: string;
}

/** Messages for every stream of an account, with shared bytes. */
export interface Page {
  readonly messages: readonly Message[];
  readonly bytes: Buffer;
}

export function toMessage({ kind, record }: StreamRecord): Message {
  const text = `event: ${kind}\nid: ${record.timestamp}\ndata: ${JSON.stringify(record)}\n\n`;
  return { recordId: record.id, text };
}

export function toPage(messages: readonly Message[]): Page {
  return { messages, bytes: Buffer.from(messages.map(({ text }) => text).join('')) };
}

/** First lines of a stream. An `id` without data raises no event, but browsers return it as `Last-Event-ID`. */
export function opening(position: number): string {
  return `retry: ${RETRY_MS}\nid: ${formatPosition(position)}\n\n`;
}

/** A heartbeat is an event, because scripts in a page do not see comments. @param position null to keep the client's last one */
export function heartbeat(position: number | null): string {
  const id = position === null ? '' : `id: ${formatPosition(position)}\n`;
  return `event: heartbeat\n${id}data: {}\n\n`;
}

/** @param position of the read that produced the digest */
export function digestMessage(position: number, digest: Digest): string {
  return `event: digest\nid: ${formatPosition(position)}\ndata: ${JSON.stringify(digest)}\n\n`;
}

/** Tells the client to reload its lists, because it may have missed something. */
export function resetMessage(position: number): Message {
  const id = formatPosition(position);
  return { recordId: `reset ${id}`, text: `event: reset\nid: ${id}\ndata: {}\n\n` };
}

/** Tells the client to reload the regions, because some became late or recovered. */
export function regionsMessage(position: number): Message {
  return { recordId: `regions ${formatPosition(position)}`, text: 'event: regions\ndata: {}\n\n' };
}
