import { LIMITS } from '@tocsin/contracts/limits';
import { FairShares } from '@tocsin/runtime/fair-shares';
import type { Request, Response } from 'express';
import { closedSignal } from './closed-signal.ts';
import { unavailable } from './errors.ts';
import { callerOf } from './request-state.ts';

/** Large bodies in memory that are incomplete or wait to be processed. Each has up to 32 MiB. */
const MAX_RECEIVED = 4;
/** A body, its text and its values take several hundred MB. The chart limits the process to 768. */
const MAX_PROCESSED = 2;
/** Requests of one account that wait. Their bodies are not in memory. */
const MAX_WAITING = 100;
/** A slower upload may have to give way to another account. */
const GRACE_MS = 1_000;

/** Lets accounts share the memory for large bodies. */
export class LargeBodies {
  readonly #received = new FairShares(MAX_RECEIVED, { graceMs: GRACE_MS, maxWaiting: MAX_WAITING });
  readonly #processed = new FairShares(MAX_PROCESSED);

  /**
   * Reads a body with `read`. A large body waits before, and then again until it may be processed.
   * @returns false if the client has disconnected
   * @throws AppError unavailable
   */
  async read(req: Request, res: Response, read: () => Promise<void>): Promise<boolean> {
    if (!mayBeLarge(req)) {
      await read();
      return true;
    }
    const { accountId } = callerOf(res);
    const signal = closedSignal(res);
    let revoke: (() => void) | undefined;
    const revoked = new Promise<never>((_resolve, reject) => {
      revoke = () =>
        reject(unavailable('The upload was too slow while other accounts waited. Try again later.'));
    });
    const onRevoke = (): boolean => {
      if (!req.complete) revoke?.();
      return !req.complete;
    };
    const releaseReceived = await this.#received.acquire(accountId, { signal, onRevoke });
    if (releaseReceived === null && signal.aborted) return false;
    if (releaseReceived === null)
      throw unavailable('Too many large requests of this account are waiting. Try again later.');
    try {
      // Otherwise the server would read the rest of a refused body.
      await Promise.race([read(), revoked]).catch((error: unknown) => {
        if (!req.complete) res.set('Connection', 'close');
        throw error;
      });
      const release = await this.#processed.acquire(accountId, { signal });
      if (signal.aborted) release?.();
      else if (release !== null) signal.addEventListener('abort', release);
      return !signal.aborted;
    } finally {
      releaseReceived();
    }
  }
}

function mayBeLarge(req: Request): boolean {
  const length = req.get('content-length');
  if (length === undefined) return req.get('transfer-encoding') !== undefined;
  return Number(length) > LIMITS.apiBodyBytes || req.get('content-encoding') !== undefined;
}
