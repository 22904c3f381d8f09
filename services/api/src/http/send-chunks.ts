import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FairShares } from '@tocsin/runtime/fair-shares';
import type { Response } from 'express';
import { closedSignal } from './closed-signal.ts';
import { unavailable } from './errors.ts';
import type { HeavyReads } from './heavy-reads.ts';

/** A client that reads for longer than this may have to give way to another account. */
const GRACE_MS = 100;
/** Requests of one account that wait. */
const MAX_WAITING = 1_000;

interface ChunkLimits {
  readonly heavyReads: Pick<HeavyReads, 'run'>;
  /** Responses in progress, which share memory. Accounts within their share may have more. */
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

export function createChunkSender({ heavyReads, maxConcurrent, content }: ChunkLimits): SendChunks {
  const options = { graceMs: GRACE_MS, maxWaiting: MAX_WAITING, isGuaranteed: true };
  const responses = new FairShares(maxConcurrent, options);
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
      const inTurns = takeTurns(chunks, (slice) => heavyReads.run(accountId, signal, slice));
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
  run: (slice: () => Promise<IteratorResult<string>>) => Promise<IteratorResult<string> | null>,
): AsyncGenerator<string> {
  try {
    for (;;) {
      const chunk = await run(() => chunks.next());
      if (chunk === null) throw new Error('the client has disconnected');
      if (chunk.done === true) return;
      if (chunk.value !== '') yield chunk.value;
    }
  } finally {
    await chunks.return(undefined);
  }
}

async function* resume(first: IteratorResult<string>, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  if (first.done !== true) yield first.value;
  yield* rest;
}
