import { AppError } from '@tocsin/contracts/errors';
import { parseTimestamp } from '@tocsin/contracts/timestamp';
import type { Request } from 'express';

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

export function formatPosition(position: number): string {
  return new Date(position).toISOString();
}
