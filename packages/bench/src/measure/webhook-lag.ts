import type { Arrival } from '../processes/webhook-sink.ts';
import type { FlipReport } from '../processes/web-target.ts';
import { distributionOf, type Distribution } from './percentiles.ts';

export interface WebhookLag {
  /** From the answer that changed the status, as the target sent it, to the webhook at the receiver; ms. */
  readonly sinceAnswerMs: Distribution;
  /** From the stamp that the status change has in Postgres; ms. */
  readonly sinceStampMs: Distribution;
  /** Status changes whose webhook has not come. */
  readonly missing: number;
}

/** Pairs what the target answered with what the receiver got. */
export function webhookLagOf(
  flipped: readonly { readonly monitorId: string; readonly report: FlipReport }[],
  arrivals: readonly Arrival[],
): WebhookLag {
  const sinceAnswer: number[] = [];
  const sinceStamp: number[] = [];
  let missing = 0;
  const first = new Map<string, Arrival>();
  for (const arrival of arrivals) {
    const key = `${arrival.monitorId} ${arrival.event}`;
    if (!first.has(key)) first.set(key, arrival);
  }
  for (const { monitorId, report } of flipped) {
    for (const [event, at] of [
      ['monitor.down', report.failedAt],
      ['monitor.up', report.recoveredAt],
    ] as const) {
      if (at === null) continue;
      const arrival = first.get(`${monitorId} ${event}`);
      if (arrival === undefined) {
        missing += 1;
        continue;
      }
      sinceAnswer.push(arrival.receivedAt - at);
      sinceStamp.push(arrival.receivedAt - arrival.stampedAt);
    }
  }
  return { sinceAnswerMs: distributionOf(sinceAnswer), sinceStampMs: distributionOf(sinceStamp), missing };
}
