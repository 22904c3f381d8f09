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
 * Opens the stores of `QUEUE_URL` and `QUEUE_URL_<REGION>` (design §2).
 * @param regionUrl the address of a region's own store, undefined where it has none
 */
export function openQueueStores(
  mainUrl: string,
  regionUrl: (region: string) => string | undefined,
  onError: (error: Error) => void,
): QueueStores {
  const report = withoutRepetition(onError);
  const main = openQueueStore(mainUrl, report);
  const byUrl = new Map<string, QueueStore>([[mainUrl, main]]);
  const forRegion = (region: string): QueueStore => {
    const url = regionUrl(region) ?? mainUrl;
    const known = byUrl.get(url);
    if (known) return known;
    const opened = openQueueStore(url, report);
    byUrl.set(url, opened);
    return opened;
  };
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
    const now = Date.now();
    if (now - (toldAt.get(error.message) ?? -Infinity) < SAME_ERROR_EVERY_MS) return;
    // Messages may hold ports or ids: what was told long ago is forgotten.
    for (const [message, at] of toldAt) if (now - at >= SAME_ERROR_EVERY_MS) toldAt.delete(message);
    toldAt.set(error.message, now);
    onError(error);
  };
}
