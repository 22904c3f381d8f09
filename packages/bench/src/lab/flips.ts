import { webhookLagOf, type WebhookLag } from '../measure/webhook-lag.ts';
import type { Flip, FlipReport } from '../processes/web-target.ts';
import type { Arrival } from '../processes/webhook-sink.ts';
import type { SystemUnderLoad } from './stage.ts';

/** Outages that begin within a second, at most. */
const PER_SECOND = 20;

/**
 * Lets the first `count` targets fail once each, evenly over time, long enough for a check to see it.
 * @returns the milliseconds after which a check has seen each of them recover
 */
export async function planFlips(
  target: SystemUnderLoad['target'],
  count: number,
  intervalSeconds: number,
): Promise<number> {
  const startsAt = Date.now();
  const downMs = intervalSeconds * 1_500;
  const flips = Array.from({ length: count }, (_, number): Flip => {
    const downAt = startsAt + (number / PER_SECOND) * 1_000;
    return { downAt, upAt: downAt + downMs };
  });
  await target.ask({ type: 'flips', flips });
  return (count / PER_SECOND) * 1_000 + 2 * downMs;
}

/** @param ids of the monitors of those targets, in order */
export async function readWebhookLag(
  { target, sink }: SystemUnderLoad,
  ids: readonly string[],
): Promise<WebhookLag> {
  const reports = await target.ask<FlipReport[]>({ type: 'report' });
  const arrivals = await sink.ask<Arrival[]>({ type: 'report' });
  const flipped = ids.flatMap((monitorId, number) => {
    const report = reports[number];
    return report === undefined ? [] : [{ monitorId, report }];
  });
  return webhookLagOf(flipped, arrivals);
}
