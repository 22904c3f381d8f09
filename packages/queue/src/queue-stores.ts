import { queueUrlVariable } from '@tocsin/runtime/settings';
import { openQueueStore, type QueueStore } from './queue-store.ts';

/** An outage makes every connection report the same error again and again; it is told this often. */
const SAME_ERROR_EVERY_MS = 30_000;

/** The stores of the system: one for everything, and where a region has its own, that one for its checks and triggers. */
export interface QueueStores {
  readonly main: QueueStore;
  forRegion(region: string): QueueStore;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the stores of `QUEUE_URL` and `QUEUE_URL_<REGION>` (design §2); each connects when it is first needed.
 * @param regionUrls the addresses of regions' own stores, by region
 * @param onError errors of connections, which mend themselves, with the variable that the store's address is from
 * @throws SettingsError where an address is malformed
 */
export function openQueueStores(
  mainUrl: string,
  regionUrls: ReadonlyMap<string, string>,
  onError: (error: Error, setting: string) => void,
): QueueStores {
  const open = (url: string, setting: string): QueueStore =>
    openQueueStore(
      url,
      withoutRepetition((error) => onError(error, setting)),
      setting,
    );
  const main = open(mainUrl, 'QUEUE_URL');
  const byUrl = new Map<string, QueueStore>([[mainUrl, main]]);
  for (const [region, url] of regionUrls) {
    if (!byUrl.has(url)) byUrl.set(url, open(url, queueUrlVariable(region)));
  }
  const forRegion = (region: string): QueueStore => byUrl.get(regionUrls.get(region) ?? mainUrl) ?? main;
  const each = async (run: (store: QueueStore) => Promise<void>): Promise<void> => {
    await Promise.all([...byUrl.values()].map(run));
  };
  return {
    main,
    forRegion,
    ping: () => each((store) => store.ping()),
    close: () => each((store) => store.close()),
  };
}

function withoutRepetition(onError: (error: Error) => void): (error: Error) => void {
  const toldAt = new Map<string, number>();
  return (error) => {
    const now = performance.now();
    if (now - (toldAt.get(error.message) ?? -Infinity) < SAME_ERROR_EVERY_MS) return;
    // Messages may hold ports or ids: what was told long ago is forgotten.
    for (const [message, at] of toldAt) if (now - at >= SAME_ERROR_EVERY_MS) toldAt.delete(message);
    toldAt.set(error.message, now);
    onError(error);
  };
}
