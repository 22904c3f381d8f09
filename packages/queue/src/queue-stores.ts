import type { Logger } from '@tocsin/runtime/logger';
import { queueUrlVariable } from '@tocsin/runtime/settings';
import { openPostgresStore } from './postgres-store.ts';
import { type QueueStore, regionOf } from './queue-store.ts';
import { openRedisStore } from './redis-store.ts';
import { parseStoreUrl } from './store-url.ts';

/** An outage makes every connection repeat the same error. */
const SAME_ERROR_EVERY_MS = 30_000;
const CONNECT_WITHIN_MS = 2_000;
/** Longer than any statement of a queue. Idle connections close earlier, and waiting ones send heartbeats. */
const SILENT_CONNECTION_MS = 20_000;

/** The main store, and the stores that some regions have for their checks and triggers. */
export interface QueueStores {
  readonly main: QueueStore;
  forRegion(region: string): QueueStore;
  /** Regions with queues in a store. Omits the regions of unavailable stores. */
  listRegions(): Promise<string[]>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

interface StoreOptions {
  readonly setting?: string;
  readonly connectWithinMs?: number;
  /** Replaces a Postgres connection that is silent for longer. */
  readonly silentMs?: number;
}

/** @param onError gets errors of connections, which recover by themselves @throws SettingsError */
export function openQueueStore(
  url: string,
  onError: (error: Error) => void,
  { setting, connectWithinMs = CONNECT_WITHIN_MS, silentMs = SILENT_CONNECTION_MS }: StoreOptions = {},
): QueueStore {
  const address = parseStoreUrl(url, setting);
  return address.kind === 'postgres'
    ? openPostgresStore(address.url, onError, silentMs)
    : openRedisStore(address, onError, connectWithinMs);
}

/** Opens the stores of `QUEUE_URL` and `QUEUE_URL_<REGION>`. @param onError also gets the name of the variable @throws SettingsError */
export function openQueueStores(
  mainUrl: string,
  regionUrls: ReadonlyMap<string, string>,
  onError: (error: Error, setting: string) => void,
): QueueStores {
  const open = (url: string, setting: string): QueueStore => {
    const onNewError = withoutRepetition((error) => onError(error, setting));
    return openQueueStore(url, onNewError, { setting });
  };
  const main = open(mainUrl, 'QUEUE_URL');
  const byUrl = new Map<string, QueueStore>([[mainUrl, main]]);
  for (const [region, url] of regionUrls) {
    if (!byUrl.has(url)) byUrl.set(url, open(url, queueUrlVariable(region)));
  }
  const stores = Array.from(byUrl.values());
  return {
    main,
    forRegion: (region) => byUrl.get(regionUrls.get(region) ?? mainUrl) ?? main,
    listRegions: async () => {
      const listed = await Promise.allSettled(stores.map((store) => store.listQueues()));
      const names = listed.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
      return [...new Set(names.flatMap((name) => regionOf(name) ?? []))];
    },
    ping: async () => void (await Promise.all(stores.map((store) => store.ping()))),
    close: async () => void (await Promise.all(stores.map((store) => store.close()))),
  };
}

export function logStoreErrors(logger: Logger): (error: Error, setting: string) => void {
  return (error, setting) => logger.warn("The queue's store failed", { error, setting });
}

function withoutRepetition(onError: (error: Error) => void): (error: Error) => void {
  const reportedAt = new Map<string, number>();
  return (error) => {
    const now = performance.now();
    if (now - (reportedAt.get(error.message) ?? -Infinity) < SAME_ERROR_EVERY_MS) return;
    // Messages may contain ports or ids, so the map would grow.
    for (const [message, at] of reportedAt) if (now - at >= SAME_ERROR_EVERY_MS) reportedAt.delete(message);
    reportedAt.set(error.message, now);
    onError(error);
  };
}
