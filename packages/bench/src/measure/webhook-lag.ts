import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import type { FlipReport } from '../processes/web-target.ts';
import { distributionOf, type Distribution } from './percentiles.ts';

/** A webhook with the time of its arrival, epoch milliseconds. */
export type Arrival = Pick<WebhookPayload, 'monitorId' | 'event' | 'timestamp'> & {
  readonly receivedAt: number;
};

export interface WebhookLag {
  /** From the response that changed the status to the webhook; ms. */
  readonly sinceResponseMs: Distribution;
  /** From the stamp of the status change in Postgres; ms. */
  readonly sinceStampMs: Distribution;
  /** Status changes without a webhook. */
  readonly missing: number;
}

/** Pairs the first responses of each target with the first webhooks about them. @param ids of the monitors, in the order of the reports */
export function webhookLagOf(
  reports: readonly FlipReport[],
  ids: readonly string[],
  arrivals: readonly Arrival[],
): WebhookLag {
  const sinceResponse: number[] = [];
  const sinceStamp: number[] = [];
  let missing = 0;
  for (const [number, { failedAt, recoveredAt }] of reports.entries()) {
    for (const [event, at] of [
      ['monitor.down', failedAt],
      ['monitor.up', recoveredAt],
    ] as const) {
      if (at === null) continue;
      const arrival = arrivals.find((one) => one.monitorId === ids[number] && one.event === event);
      if (arrival === undefined) missing += 1;
      else {
        sinceResponse.push(arrival.receivedAt - at);
        sinceStamp.push(arrival.receivedAt - Date.parse(arrival.timestamp));
      }
    }
  }
  return {
    sinceResponseMs: distributionOf(sinceResponse),
    sinceStampMs: distributionOf(sinceStamp),
    missing,
  };
}
