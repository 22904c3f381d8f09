import { disableExhaustedChannels } from '@tocsin/db/channels/write-channels';
import type { Database } from '@tocsin/db/database/open';
import { holdForDisabledChannels } from '@tocsin/db/deliveries/hold-deliveries';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { NotifierMetrics } from '../metrics.ts';

const SWEEP_EVERY_MS = 60_000;

/** Disables channels whose attempts have all failed for 72 hours, and holds the deliveries of disabled channels. */
export function startChannelSweep(db: Database, metrics: NotifierMetrics, logger: Logger): Loop {
  return createLoop({
    name: 'Disabling channels',
    everyMs: SWEEP_EVERY_MS,
    logger,
    work: async (signal) => {
      for (const channelId of await disableExhaustedChannels(db)) {
        metrics.channelsDisabled.inc();
        logger.error('Channel disabled: every attempt of the last 72 hours failed', { channelId });
      }
      await holdForDisabledChannels(db, signal);
    },
  });
}
