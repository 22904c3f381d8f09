import type { Logger } from '@tocsin/runtime/logger';
import { openPostgresStore } from './postgres-store.ts';
import type { QueueStore } from './queue-store.ts';
import { openRedisStore } from './redis-store.ts';
import { parseStoreUrl } from './store-url.ts';

/** An outage makes every connection repeat the same error. */
const SAME_ERROR_EVERY_MS = 30_000;
const CONNECT_WITHIN_MS = 2_000;
/** Longer than any statement of a queue. Idle connections close earlier, and waiting ones send heartbeats. */
const SILENT_CONNECTION_MS = 20_000;

interface StoreOptions {
  readonly connectWithinMs?: number;
  /** Replaces a Postgres connection that is silent for longer. */
  readonly silentMs?: number;
}

/** Opens the store of `QUEUE_URL`. @param onError gets errors of connections, which recover by themselves @throws SettingsError */
export function openQueueStore(
  url: string,
  onError: (error: Error) => void,
  { connectWithinMs = CONNECT_WITHIN_MS, silentMs = SILENT_CONNECTION_MS }: StoreOptions = {},
): QueueStore {
  const address = parseStoreUrl(url);
  return address.kind === 'postgres'
    ? openPostgresStore(address.url, onError, silentMs)
    : openRedisStore(address, onError, connectWithinMs);
}

/** Returns an `onError` for `openQueueStore` that logs the same error at most every 30 s. */
export function logStoreErrors(logger: Logger): (error: Error) => void {
  const loggedAt = new Map<string, number>();
  return (error) => {
    const now = performance.now();
    if (now - (loggedAt.get(error.message) ?? -Infinity) < SAME_ERROR_EVERY_MS) return;
    // Messages may contain ports or ids, so the map would grow.
    for (const [message, at] of loggedAt) if (now - at >= SAME_ERROR_EVERY_MS) loggedAt.delete(message);
    loggedAt.set(error.message, now);
    logger.warn("The queue's store failed", { error });
  };
}
