import { LIMITS } from '@tocsin/contracts/limits';
import { ApiError, isStatus } from '../../../api/request.ts';

interface ChunkOptions {
  /** Maximum number of IDs per request. */
  readonly size?: number;
  /** Stops before the next request. */
  readonly signal?: AbortSignal;
  readonly onSent?: (ids: readonly string[]) => void;
  /** Resolves after a delay, or immediately when the signal is aborted. */
  readonly wait?: typeof waitFor;
}

/** Attempts per request, while the server returns `Retry-After`. */
const MAX_ATTEMPTS = 10;
const NO_RESPONSE = {
  status: 0,
  title: 'No connection',
  detail: 'Tocsin is unreachable. Try again. Repeating the request is safe, even if part of it was applied.',
};

/**
 * Sends IDs in sequential chunks. Requests must be atomic and safe to repeat.
 * @throws the error of a request, after the earlier chunks have been sent
 */
export async function sendInChunks(
  ids: readonly string[],
  send: (ids: readonly string[]) => Promise<unknown>,
  {
    size = LIMITS.bulkMonitors,
    signal = new AbortController().signal,
    onSent,
    wait = waitFor,
  }: ChunkOptions = {},
): Promise<void> {
  for (let from = 0; from < ids.length && !signal.aborted; from += size) {
    const chunk = ids.slice(from, from + size);
    for (let attempt = 1; ; attempt += 1) {
      try {
        // Aborting the request would leave its outcome unknown.
        await send(chunk);
        break;
      } catch (error) {
        const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : null;
        if (isStatus(error, 0)) throw new ApiError(NO_RESPONSE);
        if (retryAfterMs === null || attempt === MAX_ATTEMPTS || signal.aborted) throw error;
        await wait(retryAfterMs, signal);
      }
    }
    onSent?.(chunk);
  }
}

function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, signal.aborted ? 0 : ms);
    const stop = (): void => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
