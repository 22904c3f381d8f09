import type { Logger } from '@tocsin/runtime/logger';

/** Attempts to a channel that fails follow each other after about a minute, so less than this proves nothing. */
const SILENT_AFTER_MS = 120_000;
/** While receivers respond, PostgreSQL is asked this often whether an outage is to be ended. */
const END_EVERY_MS = 10_000;

interface OutageWatchOptions {
  /** No receiver responds to this process; the attempt that failed last was to this channel. */
  readonly begin: (channelId: string) => Promise<void>;
  readonly end: () => Promise<void>;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** @returns a function to be called after each attempt, with null if it got no response. It never rejects. */
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
      logger.warn('The begin or end of an outage could not be recorded', { error });
    }
  };
}
