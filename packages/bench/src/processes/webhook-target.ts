import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:tls';
import { serveParent } from './helper-process.ts';

/*
 * A webhook receiver as a separate process. It accepts every webhook after a constant delay, without verifying it, since it must be much
 * cheaper than a delivery.
 */

export type WebhookTargetMessage =
  | {
      readonly type: 'start';
      readonly tls: { readonly key: string; readonly cert: string };
      readonly delayMs: number;
    }
  /** Returns the webhooks since the last `take`, and forgets them. */
  | { readonly type: 'take' }
  | { readonly type: 'count' };

/** A webhook that the receiver has accepted; times are epoch milliseconds. */
export interface WebhookArrival {
  readonly webhookId: string;
  readonly monitorId: string;
  /** When the event happened. */
  readonly timestamp: number;
  readonly at: number;
}

const END_OF_HEAD = '\r\n\r\n';
const RESPONSE = `HTTP/1.1 204 No Content\r\nConnection: close${END_OF_HEAD}`;

let arrivals: WebhookArrival[] = [];

function serve(socket: Socket, delayMs: number): void {
  let request = '';
  // Clients may reset the connection after the response.
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    request += chunk.toString('latin1');
    const end = request.indexOf(END_OF_HEAD);
    if (end < 0) return;
    const head = request.slice(0, end);
    const body = request.slice(end + END_OF_HEAD.length);
    if (body.length < Number(/^content-length: *(\d+)/im.exec(head)?.[1])) return;
    const { monitorId, timestamp } = JSON.parse(body) as { monitorId: string; timestamp: string };
    const webhookId = /^webhook-id: *(\S+)/im.exec(head)?.[1] ?? '';
    setTimeout(() => {
      arrivals.push({ webhookId, monitorId, timestamp: Date.parse(timestamp), at: Date.now() });
      socket.end(RESPONSE);
    }, delayMs);
  });
}

serveParent(async (message: WebhookTargetMessage) => {
  if (message.type === 'count') return arrivals.length;
  if (message.type === 'take') {
    const taken = arrivals;
    arrivals = [];
    return taken;
  }
  const server = createServer({ ...message.tls, noDelay: true }, (socket) => serve(socket, message.delayMs));
  server.on('tlsClientError', () => undefined);
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port };
});
