import { setTimeout as wait } from 'node:timers/promises';

/**
 * Does a slice of long work, and then pauses, so that Postgres works for only a share of the time. Call it without a transaction, which
 * would keep its locks.
 * @param share greater than 0; 1 never pauses
 * @param signal ends the pause
 */
export async function workForShare<Result>(
  share: number,
  signal: AbortSignal | undefined,
  slice: () => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now();
  const result = await slice();
  const pauseMs = (performance.now() - startedAt) * (1 / share - 1);
  if (pauseMs > 0) await wait(pauseMs, undefined, { signal }).catch(() => undefined);
  return result;
}
