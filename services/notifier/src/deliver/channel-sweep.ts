import { disableExhaustedChannels } from '@tocsin/db/channels/write-channels';
import type { Database } from '@tocsin/db/database/open';
import { correctFarAttempts, probeFailingChannels } from '@tocsin/db/deliveries/advance-retries';
import { deleteOldOutages } from '@tocsin/db/deliveries/delivery-outages';
import { holdForDisabledChannels } from '@tocsin/db/deliveries/hold-deliveries';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { NotifierMetrics } from '../metrics.ts';

const SWEEP_EVERY_MS = 60_000;
/** How much later than a minute after its last failure a channel may be probed. */
const PROBE_EVERY_MS = 10_000;

/** Makes one delivery due in each channel that only fails, every minute. */
export function startChannelProbes(db: Database, logger: Logger): Loop {
  return createLoop({
    name: 'Probing failing channels',
    everyMs: PROBE_EVERY_MS,
    logger,
    work: () => probeFailingChannels(db),
  });
}

/**
 * Disables channels whose attempts have all failed for 72 hours, holds the deliveries of disabled channels, and corrects attempts that a
 * clock has moved far away.
 */
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
      await correctFarAttempts(db);
      await deleteOldOutages(db);
      await holdForDisabledChannels(db, signal);
    },
  });
}
