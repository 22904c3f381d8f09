import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { FairLimiter } from '@tocsin/runtime/fair-limiter';
import type { Request, Response } from 'express';
import { unavailable } from './errors.ts';

interface ChunkLimits {
  readonly atOnce: { readonly process: number; readonly account: number };
  /** Time limit for a request that waits for another one to end. */
  readonly waitMs: number;
  /** For errors, such as "the metrics of this account". */
  readonly content: string;
}

/**
 * Sends a response in chunks, no faster than the client reads.
 * @param begin sets headers and returns the chunks. Errors that it throws become error responses; errors while chunks are sent cannot.
 * `left` is aborted when the client disconnects
 * @throws AppError unavailable if too many such responses are in progress
 */
type SendChunks = (
  { req, res }: { readonly req: Request; readonly res: Response },
  accountId: string,
  begin: (left: AbortSignal) => Promise<Iterable<string> | AsyncIterable<string>>,
) => Promise<void>;

export function createChunkSender({ atOnce, waitMs, content }: ChunkLimits): SendChunks {
  const limiter = new FairLimiter({
    limit: atOnce.process,
    limits: { account: atOnce.account },
    sharedBy: 'account',
  });
  return async function sendChunks({ req, res }, accountId, begin) {
    // A response behind another one gets no event when its connection closes.
    const left = new AbortController();
    const leave = (): void => left.abort();
    req.socket.once('close', leave);
    if (req.socket.destroyed) leave();
    const release = await limiter.acquire({ account: accountId }, waitMs);
    try {
      if (release === null)
        throw unavailable(`Other requests for ${content} are in progress. Try again later.`);
      if (left.signal.aborted) return;
      const chunks = await begin(left.signal);
      // Prepares one chunk while the last one is being sent.
      const source = Readable.from(inTurns(chunks), { highWaterMark: 1 });
      await pipeline(source, res, { signal: left.signal }).catch((error: unknown) => {
        if (!left.signal.aborted) throw error;
      });
    } finally {
      req.socket.off('close', leave);
      release?.();
    }
  };
}

/** Other requests run between two chunks, however fast the client reads. */
async function* inTurns(chunks: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    yield chunk;
    await setImmediate();
  }
}
