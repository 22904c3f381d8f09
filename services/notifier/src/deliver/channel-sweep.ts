import { disableExhaustedChannels } from '@tocsin/db/channels/write-channels';
import type { Database } from '@tocsin/db/database/open';
import { correctFarAttempts, probeFailingChannels } from '@tocsin/db/deliveries/advance-retries';
import { deleteOldOutages } from '@tocsin/db/deliveries/delivery-outages';
import { holdForDisabledChannels } from '@tocsin/db/deliveries/hold-deliveries';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop, type LoopOptions } from '@tocsin/runtime/loop';
import type { NotifierMetrics } from '../metrics.ts';

const SWEEP_EVERY_MS = 60_000;
/** Failing channels are probed a minute after their last failure, or at most this much later. */
const PROBE_EVERY_MS = 10_000;

/** Makes one delivery due every minute in each channel whose attempts all fail. */
export function startChannelProbes(db: Database, logger: Logger): Loop {
  return createLoop({
    name: 'Probing failing channels',
    everyMs: PROBE_EVERY_MS,
    logger,
    work: () => probeFailingChannels(db),
  });
}

/**
 * Disables channels whose attempts failed for 72 hours, holds deliveries of disabled channels, and corrects attempts that a wrong clock moved
 * far away. Separate loops keep failures apart.
 */
export function startChannelSweeps(db: Database, metrics: NotifierMetrics, logger: Logger): Loop[] {
  const sweep = (name: string, work: LoopOptions['work']): Loop =>
    createLoop({ name, everyMs: SWEEP_EVERY_MS, logger, work });
  const onDisabled = (channelId: string): void => {
    metrics.channelsDisabled.inc();
    logger.error('Channel disabled, because every attempt in the last 72 hours failed', { channelId });
  };
  return [
    sweep('Disabling channels', (signal) => disableExhaustedChannels(db, onDisabled, signal)),
    sweep('Holding the deliveries of disabled channels', (signal) => holdForDisabledChannels(db, signal)),
    sweep('Correcting far attempts', () => correctFarAttempts(db)),
    sweep('Deleting old outages', () => deleteOldOutages(db)),
  ];
}
