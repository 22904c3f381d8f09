import { setTimeout as wait } from 'node:timers/promises';

/**
 * Runs a slice of long work and then pauses, so that PostgreSQL is busy for a share of the time. Do not use it in a transaction, which would
 * hold its locks during the pause. @param share above 0, where 1 means no pause @param signal ends the pause early
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
