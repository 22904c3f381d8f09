import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { isDown } from '../fleet/flaps.ts';
import { behaviorOf, HANGING_PATH } from '../fleet/target-path.ts';
import { serveParent } from './helper-process.ts';

/*
 * The target of the checks, as a separate process. It reads to the end of a request's head and sends a constant response, since it
 * must be much cheaper than a check. A path /f/<number> is down for a span of time, /h/… never responds, and /d/… responds after a delay.
 */

/** When a path is down; epoch milliseconds. */
export interface Flip {
  readonly downAt: number;
  readonly upAt: number;
}

/** When a path first sent the response for down, and then for up again; epoch milliseconds, null for never. */
export interface FlipReport {
  failedAt: number | null;
  recoveredAt: number | null;
}

export type TargetMessage =
  | {
      readonly type: 'start';
      readonly tls: { readonly key: string; readonly cert: string } | null;
      /** Addresses to listen on, all with the same port. Default: 127.0.0.1. */
      readonly addresses?: readonly string[];
    }
  | { readonly type: 'flips'; readonly flips: readonly Flip[] }
  | { readonly type: 'report' };

const END_OF_HEAD = '\r\n\r\n';
const UP = responseOf('200 OK', 'ok');
const DOWN = responseOf('500 Internal Server Error', 'no');

let flips: readonly Flip[] = [];
let reports: FlipReport[] = [];

function responseOf(status: string, body: string): Buffer {
  const headers = `Content-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close`;
  return Buffer.from(`HTTP/1.1 ${status}\r\n${headers}${END_OF_HEAD}${body}`);
}

function serve(socket: Socket): void {
  let head = '';
  // Clients may reset the connection after the response.
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    head += chunk.toString('latin1');
    if (!head.endsWith(END_OF_HEAD) || head.startsWith(`GET ${HANGING_PATH}`)) return;
    const behavior = behaviorOf(head);
    if (behavior === null) socket.end(responseTo(head));
    else {
      const { delayMs, flapPhaseMs } = behavior;
      const isUp = flapPhaseMs === null || !isDown(flapPhaseMs, Date.now());
      setTimeout(() => socket.end(isUp ? UP : DOWN), delayMs);
    }
  });
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

/** @param port 0 for any free one */
async function listen(
  tls: { key: string; cert: string } | null,
  host: string,
  port: number,
): Promise<number> {
  const server: Server =
    tls === null ? createServer({ noDelay: true }, serve) : createTlsServer({ ...tls, noDelay: true }, serve);
  // A client may end in the middle of its handshake.
  server.on('tlsClientError', () => undefined);
  server.listen({ port, host, backlog: 4096 });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

serveParent(async (message: TargetMessage) => {
  if (message.type === 'start') {
    let port = 0;
    for (const address of message.addresses ?? ['127.0.0.1']) port = await listen(message.tls, address, port);
    return { port };
  }
  if (message.type === 'report') return reports;
  flips = message.flips;
  reports = flips.map(() => ({ failedAt: null, recoveredAt: null }));
  return null;
});
