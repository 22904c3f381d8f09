import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { serveParent } from './serve-parent.ts';

/* The receiver of the webhooks, as a process of its own. */

/** A webhook as it came in. */
export interface Arrival {
  readonly monitorId: string;
  readonly event: WebhookPayload['event'];
  /** The stamp of the webhook event, epoch milliseconds. */
  readonly stampedAt: number;
  readonly receivedAt: number;
}

export type SinkMessage = { readonly type: 'start' } | { readonly type: 'report' };

let receiver: WebhookReceiver | undefined;

function arrivals(): Arrival[] {
  return (receiver?.received ?? []).map(({ at, body }) => {
    const { monitorId, event, timestamp } = JSON.parse(body) as WebhookPayload;
    return { monitorId, event, stampedAt: Date.parse(timestamp), receivedAt: at.getTime() };
  });
}

serveParent(async ({ type }: SinkMessage) => {
  if (type === 'report') return arrivals();
  receiver = await WebhookReceiver.start();
  return { url: receiver.url('/hook'), ca: receiver.ca };
});
