import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { listen, type ListenAddress } from '@tocsin/runtime/listen';
import { cutUnreadResponses, OpenRequests } from './open-requests.ts';
import { handleClientErrors, validateHead, refuseRequest } from './protocol-errors.ts';

/** Bounds the time and memory that clients may take. Tests set tighter limits. */
const HTTP_LIMITS = {
  /** From the first byte of a request, or from the start of the connection, to the end of the head. */
  headMs: 20_000,
  /** To the end of the request body. */
  requestMs: 30_000,
  /** Idle connections stay open this long. A load balancer must close them earlier. */
  keepAliveMs: 65_000,
  /** Until a client that has read nothing is disconnected. Live streams have other limits. */
  responseMs: 60_000,
  unsentBytes: 128 * 1024 * 1024,
  headerLines: 200,
  /** Requests that wait for responses on one connection. */
  pipelined: 32,
} as const;
export type HttpLimits = Readonly<Record<keyof typeof HTTP_LIMITS, number>>;

const FINISH_WITHIN_MS = 10_000;
/** When the server stops, an idle connection may still send a last request. */
const LAST_REQUEST_WITHIN_MS = 1_000;
const CHECK_EVERY_MS = 1_000;

export interface HttpServer {
  readonly port: number;
  /** Accepts no more connections, and waits at most ten seconds for requests in progress. */
  stop(): Promise<void>;
}

/** @throws SettingsError if the port is in use, or the port or address is not permitted */
export async function startHttpServer(
  app: RequestListener,
  listenAddress: ListenAddress,
  tighterLimits: Partial<HttpLimits> = {},
): Promise<HttpServer> {
  const limits: HttpLimits = { ...HTTP_LIMITS, ...tighterLimits };
  const open = new OpenRequests();
  /** Connections without a request so far, which Node does not count as idle. */
  const unused = new Set<Socket>();
  let stopping = false;
  const server = guardedServer(open, limits, (req, res) => {
    if (stopping) endConnection(res);
    unused.delete(req.socket);
    app(req, res);
  });
  server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  const port = await listen(server, listenAddress, { port: 'PORT', host: 'HOST' });
  const stopCutting = cutUnreadResponses(open, limits.responseMs, limits.unsentBytes);
  return {
    port,
    async stop() {
      const closed = once(server, 'close');
      stopping = true;
      for (const res of open.lastResponses()) endConnection(res);
      // The HTTP server's close() would cut connections whose first request is on its way.
      NetServer.prototype.close.call(server);
      const stoppedAt = performance.now();
      const idle = setInterval(() => {
        if (performance.now() - stoppedAt <= LAST_REQUEST_WITHIN_MS) return;
        server.closeIdleConnections();
        for (const socket of unused) socket.destroy();
      }, 50);
      const late = setTimeout(() => server.closeAllConnections(), FINISH_WITHIN_MS);
      await closed;
      stopCutting();
      clearInterval(idle);
      clearTimeout(late);
    },
  };
}

/** Creates a server that slow and hostile clients cannot block for others (docs/reliability.md). */
function guardedServer(open: OpenRequests, limits: HttpLimits, app: RequestListener): Server {
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    const waiting = open.add(req, res);
    if (waiting > limits.pipelined) {
      req.socket.destroy();
      return;
    }
    const errorStatus = validateHead(req, limits.headerLines);
    if (errorStatus === null) app(req, res);
    else refuseRequest(res, errorStatus);
  };
  const server = createServer({
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(CHECK_EVERY_MS, limits.requestMs),
    // Node's response to a request without Host has no body.
    requireHostHeader: false,
  });
  // Node would silently drop headers above a limit, even `Transfer-Encoding`. The listener refuses too many headers instead.
  server.maxHeadersCount = 0;
  server.on('request', listener);
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', listener);
  server.on('clientError', handleClientErrors(open));
  return server;
}

/** Tells the client not to send another request, and closes the connection after this response. */
function endConnection(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
}
