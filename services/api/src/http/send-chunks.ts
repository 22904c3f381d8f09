import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { FairShares, type Release } from '@tocsin/runtime/fair-shares';
import type { Response } from 'express';
import { closedSignal } from './closed-signal.ts';
import { unavailable } from './errors.ts';

/** Chunks that are prepared at a time. This takes CPU time, so more would take longer. */
const MAX_CONCURRENT_CHUNKS = 1;
/** A client that reads for longer than this may have to give way to another account. */
const GRACE_MS = 100;
/** Requests of one account that wait. */
const MAX_WAITING = 1_000;

interface ChunkLimits {
  /** Responses in progress, which share memory. */
  readonly maxConcurrent: number;
  /** For errors, such as "the metrics of this account". */
  readonly content: string;
}

/**
 * Sends a response in chunks, no faster than the client reads. Accounts take turns for each chunk.
 * @param chunks may be empty strings where other accounts get a turn
 * @param setHeaders called with the first chunk. Earlier errors become error responses, and later ones break the connection
 * @throws AppError unavailable if too many such requests of the account wait
 */
type SendChunks = (
  res: Response,
  accountId: string,
  chunks: AsyncGenerator<string>,
  setHeaders: () => void,
) => Promise<void>;

export function createChunkSender({ maxConcurrent, content }: ChunkLimits): SendChunks {
  const responses = new FairShares(maxConcurrent, { graceMs: GRACE_MS, maxWaiting: MAX_WAITING });
  const turns = new FairShares(MAX_CONCURRENT_CHUNKS);
  return async function sendChunks(res, accountId, chunks, setHeaders) {
    const signal = closedSignal(res);
    const onRevoke = (): boolean => {
      if (res.headersSent) res.req.socket.destroy();
      return res.headersSent;
    };
    const release = await responses.acquire(accountId, { signal, onRevoke });
    try {
      if (signal.aborted) return;
      if (release === null)
        throw unavailable(`Too many requests for ${content} are waiting. Try again later.`);
      const inTurns = takeTurns(chunks, () => turns.acquire(accountId, { signal }));
      // A pipeline adds nine.
      res.setMaxListeners(20);
      const first = await inTurns.next();
      setHeaders();
      // Prepares one chunk while the last one is being sent.
      await pipeline(Readable.from(resume(first, inTurns), { highWaterMark: 1 }), res, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      release?.();
    }
  };
}

async function* takeTurns(
  chunks: AsyncGenerator<string>,
  acquire: () => Promise<Release | null>,
): AsyncGenerator<string> {
  try {
    for (;;) {
      const release = await acquire();
      if (release === null) throw new Error('the client has disconnected');
      const { done, value } = await chunks.next().finally(release);
      if (done === true) return;
      if (value !== '') yield value;
      // Other requests run between two chunks, however fast the client reads.
      await setImmediate();
    }
  } finally {
    await chunks.return(undefined);
  }
}

async function* resume(first: IteratorResult<string>, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  if (first.done !== true) yield first.value;
  yield* rest;
}
