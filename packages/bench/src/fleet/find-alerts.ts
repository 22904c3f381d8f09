import type { Span } from '@tocsin/lab/slots';
import { transitionsOf } from './flaps.ts';

/** A check that sees a transition ends within an interval and this time: lag, response and recording. */
const TOLERANCE_MS = 10_000;

/** A webhook that arrived; times are epoch milliseconds. */
export interface Alert {
  readonly webhookId: string;
  readonly monitorId: string;
  readonly status: 'DOWN' | 'UP';
  /** Of the status change. */
  readonly timestamp: number;
  readonly receivedAt: number;
}

export interface AlertReport {
  /** Transitions of flapping targets whose alert was due within the span. */
  readonly expected: number;
  readonly missing: number;
  /** Alerts that no transition explains. */
  readonly unexpected: readonly Alert[];
  /** Webhooks that arrived again. */
  readonly repeated: number;
  /** From the transition to the webhook, ms. */
  readonly delaysMs: readonly number[];
}

/**
 * Compares the alerts of a span with the transitions of the targets.
 * @param phases of the flapping targets, by monitor
 */
export function compareAlerts(
  alerts: readonly Alert[],
  phases: ReadonlyMap<string, number>,
  { from, to }: Span,
  intervalMs: number,
): AlertReport {
  const seenWithinMs = intervalMs + TOLERANCE_MS;
  const byWebhook = new Map(alerts.map((alert) => [alert.webhookId, alert]));
  const pending = new Map<string, Alert[]>();
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
        (alert) => alert.status === status && alert.timestamp >= at && alert.timestamp < at + seenWithinMs,
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
