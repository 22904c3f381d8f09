import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import type { FlipReport } from '../processes/web-target.ts';
import { figure, type Figure } from '../report/figure.ts';
import { distributionOf } from './percentiles.ts';

/** A webhook with the time of its arrival, epoch milliseconds. */
export type Arrival = Pick<WebhookPayload, 'monitorId' | 'event' | 'timestamp'> & {
  readonly receivedAt: number;
};

/**
 * Pairs the first responses of each target with the first webhooks about them: the time from the response that changed the status,
 * and from the timestamp of the status change in Postgres.
 * @param ids of the monitors, in the order of the reports
 */
export function webhookFigures(
  reports: readonly FlipReport[],
  ids: readonly string[],
  arrivals: readonly Arrival[],
): Figure[] {
  const responded = reports.flatMap(({ failedAt, recoveredAt }, number) => [
    { monitorId: ids[number], event: 'monitor.down', respondedAt: failedAt },
    { monitorId: ids[number], event: 'monitor.up', respondedAt: recoveredAt },
  ]);
  const sinceResponse: number[] = [];
  const sinceRecorded: number[] = [];
  let missing = 0;
  for (const { monitorId, event, respondedAt } of responded) {
    if (respondedAt === null) continue;
    const arrival = arrivals.find((one) => one.monitorId === monitorId && one.event === event);
    if (arrival === undefined) missing += 1;
    else {
      sinceResponse.push(arrival.receivedAt - respondedAt);
      sinceRecorded.push(arrival.receivedAt - Date.parse(arrival.timestamp));
    }
  }
  const { count, p50, p99 } = distributionOf(sinceResponse);
  return [
    figure('webhook-p50', "target's response to webhook p50", p50, 'ms'),
    figure('webhook-p99', "target's response to webhook p99", p99, 'ms'),
    figure('webhook-stamp-p99', 'recorded to webhook p99', distributionOf(sinceRecorded).p99, 'ms'),
    figure('webhook-count', 'webhooks measured', count, ''),
    figure('webhook-missing', 'webhooks that did not arrive', missing, ''),
  ];
}
