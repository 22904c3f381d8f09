import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { behaviorOf, HANGING_PATH, isDown } from '../fleet/plan.ts';
import { serveParent } from './helper-process.ts';

/*
 * The target of the checks and the receiver of the webhooks, as a separate process. It must be much cheaper than a check or a delivery, so
 * it parses no more than it needs, sends constant responses, and verifies no webhook. A path /f/<number> is down for a span of time, /h/…
 * never responds, and /d/… responds after a delay.
 */

export type TargetMessage =
  | {
      readonly type: 'listen';
      /** Null for http. */
      readonly tls: { readonly key: string; readonly cert: string } | null;
      /** Addresses that share one port. Defaults to 127.0.0.1. */
      readonly addresses?: readonly string[];
      /** Delay of the response to a webhook. Defaults to 0. */
      readonly webhookDelayMs?: number;
    }
  | { readonly type: 'flips'; readonly flips: readonly Flip[] }
  | { readonly type: 'reports' }
  /** Returns the webhooks since the last `take`. */
  | { readonly type: 'take' }
  /** Returns the number of webhooks since the last `take`. */
  | { readonly type: 'count' };

/** Downtime of a path, in epoch milliseconds. */
export interface Flip {
  readonly downAt: number;
  readonly upAt: number;
}

/** Times of the first response that means down and of the next one that means up, in epoch milliseconds. Null if there was none. */
export interface FlipReport {
  failedAt: number | null;
  recoveredAt: number | null;
}

/** A received webhook. Times are epoch milliseconds. */
export interface WebhookArrival {
  readonly webhookId: string;
  readonly monitorId: string;
  readonly event: string;
  /** Time of the event. */
  readonly timestamp: number;
  readonly receivedAt: number;
}

const END_OF_HEAD = '\r\n\r\n';
const UP = responseOf('200 OK', 'ok');
const DOWN = responseOf('500 Internal Server Error', 'no');
const ACCEPTED = responseOf('204 No Content', '');

let flips: readonly Flip[] = [];
let reports: FlipReport[] = [];
const arrivals: WebhookArrival[] = [];

function responseOf(status: string, body: string): Buffer {
  const headers = `Content-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close`;
  return Buffer.from(`HTTP/1.1 ${status}\r\n${headers}${END_OF_HEAD}${body}`);
}

function serve(socket: Socket, webhookDelayMs: number): void {
  let request = '';
  // Clients may reset the connection after the response.
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    request += chunk.toString('latin1');
    if (request.startsWith('POST ')) receive(request, socket, webhookDelayMs);
    else if (request.endsWith(END_OF_HEAD)) respond(request, socket);
  });
}

function respond(head: string, socket: Socket): void {
  if (head.startsWith(`GET ${HANGING_PATH}`)) return;
  const behavior = behaviorOf(head);
  if (behavior === null) {
    socket.end(responseTo(head));
    return;
  }
  const { delayMs, flapPhaseMs } = behavior;
  const isUp = flapPhaseMs === null || !isDown(flapPhaseMs, Date.now());
  setTimeout(() => socket.end(isUp ? UP : DOWN), delayMs);
}

function responseTo(head: string): Buffer {
  const index = head.startsWith('GET /f/') ? Number.parseInt(head.slice(7), 10) : Number.NaN;
  const [flip, report] = [flips[index], reports[index]];
  if (flip === undefined || report === undefined) return UP;
  const now = Date.now();
  if (now >= flip.downAt && now < flip.upAt) {
    report.failedAt ??= now;
    return DOWN;
  }
  if (report.failedAt !== null) report.recoveredAt ??= now;
  return UP;
}

function receive(request: string, socket: Socket, delayMs: number): void {
  const end = request.indexOf(END_OF_HEAD);
  if (end < 0) return;
  const head = request.slice(0, end);
  const body = request.slice(end + END_OF_HEAD.length);
  if (body.length < Number(/^content-length: *(\d+)/im.exec(head)?.[1])) return;
  const webhookId = /^webhook-id: *(\S+)/im.exec(head)?.[1] ?? '';
  const { monitorId, event, timestamp } = JSON.parse(body) as Record<string, string>;
  const webhook = { webhookId, monitorId: monitorId ?? '', event: event ?? '' };
  setTimeout(() => {
    arrivals.push({ ...webhook, timestamp: Date.parse(timestamp ?? ''), receivedAt: Date.now() });
    socket.end(ACCEPTED);
  }, delayMs);
}

/** @returns the port */
async function listen({
  tls,
  addresses = ['127.0.0.1'],
  webhookDelayMs = 0,
}: Extract<TargetMessage, { type: 'listen' }>): Promise<number> {
  const onConnection = (socket: Socket): void => serve(socket, webhookDelayMs);
  let port = 0;
  for (const host of addresses) {
    const server: Server =
      tls === null
        ? createServer({ noDelay: true }, onConnection)
        : createTlsServer({ ...tls, noDelay: true }, onConnection);
    // A client may be killed during its handshake.
    server.on('tlsClientError', () => undefined);
    server.listen({ port, host, backlog: 4096 });
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  }
  return port;
}

serveParent(async (message: TargetMessage) => {
  switch (message.type) {
    case 'listen':
      return listen(message);
    case 'flips':
      flips = message.flips;
      reports = flips.map(() => ({ failedAt: null, recoveredAt: null }));
      return null;
    case 'reports':
      return reports;
    case 'take':
      return arrivals.splice(0);
    case 'count':
      return arrivals.length;
  }
});
