import type { Logger } from '@tocsin/runtime/logger';

/** A failing channel is attempted about every minute, so a shorter silence proves nothing. */
const SILENT_AFTER_MS = 120_000;
const END_EVERY_MS = 10_000;

interface OutageWatchOptions {
  /** Called when no receiver responds, with the channel of the last attempt. */
  readonly begin: (channelId: string) => Promise<void>;
  readonly end: () => Promise<void>;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** Watches for outages. @returns a function to call after each attempt, with null if there was no response. It never rejects */
export function createOutageWatch({
  begin,
  end,
  logger,
  now = () => performance.now(),
}: OutageWatchOptions): (channelId: string, statusCode: number | null) => Promise<void> {
  let respondedAt = now();
  let endedAt = -Infinity;
  return async (channelId, statusCode) => {
    try {
      if (statusCode === null) {
        if (now() - respondedAt >= SILENT_AFTER_MS) await begin(channelId);
        return;
      }
      respondedAt = now();
      if (respondedAt - endedAt < END_EVERY_MS) return;
      endedAt = respondedAt;
      await end();
    } catch (error) {
      endedAt = -Infinity;
      logger.warn('Could not record the beginning or end of an outage', { error });
    }
  };
}
