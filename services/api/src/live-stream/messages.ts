import { AppError } from '@tocsin/contracts/errors';
import { parseTimestamp } from '@tocsin/contracts/fields';
import type { Request } from 'express';
import { RETRY_MS } from './live-streams.ts';
import type { StreamRecord } from './replay.ts';

/**
 * The position that a stream is to go on from, epoch milliseconds: `Last-Event-ID`, or the query parameter `lastEventId` where
 * there is no such header, as in the first request of an `EventSource`. Null: neither is given.
 *
 * A position is an instant of Postgres' clock such that everything stamped ten seconds before it or earlier has been sent.
 * A record's own stamp is one: what was committed by then comes in the order of stamps, and what was not takes less than ten seconds from its
 * stamp to its commit. A heartbeat's is the time of the last complete look at Postgres.
 * @throws AppError validation_failed where it is no position
 */
export function positionOf(req: Request): number | null {
  const header = req.get('last-event-id');
  if (header !== undefined) return parsePosition(header, 'Last-Event-ID');
  const { lastEventId } = req.query;
  if (lastEventId === undefined) return null;
  return parsePosition(typeof lastEventId === 'string' ? lastEventId : '', 'lastEventId');
}

function parsePosition(text: string, path: string): number {
  const date = parseTimestamp(text);
  if (date !== null) return date.getTime();
  throw new AppError('validation_failed', `These fields are not valid: ${path}.`, {
    errors: [{ path, message: 'must be the id of a message of this stream' }],
  });
}

function formatPosition(position: number): string {
  return new Date(position).toISOString();
}

/** One server-sent event. */
export interface Message {
  /** Of its record, by which clients know it again. */
  readonly recordId: string;
  readonly text: string;
}

/** Messages that go to every stream of an account together; the bytes are shared. */
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

/** The first lines of a stream. An `id` without data raises no event in a browser, but is sent back as `Last-Event-ID`. */
export function opening(position: number): string {
  return `retry: ${RETRY_MS}\nid: ${formatPosition(position)}\n\n`;
}

/**
 * A sign of life that scripts of a page can see, as they cannot see a comment: by its absence they know a connection that is dead and
 * has not been told so. @param position null: none is known to hold now, and the last one stays
 */
export function heartbeat(position: number | null): string {
  const id = position === null ? '' : `id: ${formatPosition(position)}\n`;
  return `event: heartbeat\n${id}data: {}\n\n`;
}

/** Tells the client that it may have missed something: it is to load its lists again. */
export function resetMessage(position: number): Message {
  const id = formatPosition(position);
  return { recordId: `reset ${id}`, text: `event: reset\nid: ${id}\ndata: {}\n\n` };
}
