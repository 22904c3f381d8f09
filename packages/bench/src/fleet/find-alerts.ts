import type { Span } from '@tocsin/lab/slots';
import { distributionOf } from '../measure/percentiles.ts';
import type { WebhookArrival } from '../processes/target.ts';
import { figure, type Figure } from '../report/figure.ts';
import { transitionsOf } from './plan.ts';

/** Allows for lag, response and recording. The check that sees a transition ends within an interval and this time. */
const TOLERANCE_MS = 10_000;
const EVENTS = { DOWN: 'monitor.down', UP: 'monitor.up' } as const;

export interface AlertReport {
  /** Transitions of flapping targets whose alert was due within the span. */
  readonly expected: number;
  readonly missing: number;
  /** Alerts that no transition explains. */
  readonly unexpected: readonly WebhookArrival[];
  /** Webhooks that arrived again. */
  readonly repeated: number;
  /** Milliseconds from the transition to the webhook. */
  readonly delaysMs: readonly number[];
}

/**
 * Compares the alerts of a span with the transitions of the targets.
 * @param phases of the flapping targets, by monitor
 */
export function compareAlerts(
  alerts: readonly WebhookArrival[],
  phases: ReadonlyMap<string, number>,
  { from, to }: Span,
  intervalMs: number,
): AlertReport {
  const seenWithinMs = intervalMs + TOLERANCE_MS;
  const byWebhook = new Map(alerts.map((alert) => [alert.webhookId, alert]));
  const pending = new Map<string, WebhookArrival[]>();
  for (const alert of byWebhook.values()) {
    if (alert.timestamp < from || alert.timestamp >= to) continue;
    pending.set(alert.monitorId, [...(pending.get(alert.monitorId) ?? []), alert]);
  }
  let [expected, missing] = [0, 0];
  const delaysMs: number[] = [];
  for (const [monitorId, phase] of phases) {
    const own = pending.get(monitorId) ?? [];
    // An alert at the start of the span may be due to an earlier transition.
    for (const { at, status } of transitionsOf(phase, { from: from - seenWithinMs, to })) {
      const index = own.findIndex(
        ({ event, timestamp }) =>
          event === EVENTS[status] && timestamp >= at && timestamp < at + seenWithinMs,
      );
      const [alert] = index < 0 ? [] : own.splice(index, 1);
      if (at < from || at + seenWithinMs > to) continue;
      expected += 1;
      if (alert === undefined) missing += 1;
      else delaysMs.push(alert.receivedAt - at);
    }
  }
  const unexpected = [...pending.values()].flat();
  return { expected, missing, unexpected, repeated: alerts.length - byWebhook.size, delaysMs };
}

export function alertFigures({ expected, missing, unexpected, repeated, delaysMs }: AlertReport): Figure[] {
  const { p50, p99 } = distributionOf(delaysMs);
  return [
    figure('flips', 'status changes of flapping targets', expected, ''),
    figure('webhooks-missing', '  webhooks that did not arrive', missing, '', { atMost: 0 }),
    figure('webhooks-repeated', '  webhooks that arrived twice', repeated, ''),
    figure('webhooks-unexpected', 'webhooks without a change of the target', unexpected.length, '', {
      atMost: 0,
    }),
    figure('detected-p50', 'change of the target to webhook p50', p50 / 1_000, 's'),
    figure('detected-p99', '  p99', p99 / 1_000, 's'),
  ];
}
