import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { listen } from '@tocsin/runtime/listen';
import type { ListenAddress } from '@tocsin/runtime/listen';
import { OpenRequests, UntakenAnswers } from './open-requests.ts';
import { answerClientErrors, judgeHead, refuseRequest } from './protocol-errors.ts';

/** What one client may take of the server's time and memory; tests set closer ones. */
export interface HttpLimits {
  /** From the first byte of a request, or from the connection's begin, to the end of its head. */
  readonly headMs: number;
  /** To the end of its body. */
  readonly requestMs: number;
  /** How long a connection stays open for another request. */
  readonly keepAliveMs: number;
  /** From the beginning of an answer to its being taken; live streams have their own limits. */
  readonly answerMs: number;
  /** Of answers that are not yet taken, all clients together. */
  readonly unsentBytes: number;
  /** Header lines of a request. */
  readonly headerLines: number;
  /** Requests of one connection that wait for their answers. */
  readonly pipelined: number;
}

const HTTP_LIMITS: HttpLimits = {
  headMs: 20_000,
  requestMs: 30_000,
  // Longer than a load balancer keeps its connections, so that it is the one to close them.
  keepAliveMs: 65_000,
  answerMs: 60_000,
  unsentBytes: 128 * 1024 * 1024,
  headerLines: 200,
  pipelined: 32,
};

const FINISH_WITHIN_MS = 10_000;
/** How long a connection without a request may still bring one when the server stops, to be told not to bring another. */
const LAST_REQUEST_WITHIN_MS = 1_000;
/** From one look for requests that take too long to the next. */
const LOOK_EVERY_MS = 1_000;

export interface HttpServer {
  readonly port: number;
  /**
   * Takes no more connections, tells those that are open with their next answer that it is the last one, and waits for the
   * requests under way, at most ten seconds.
   */
  stop(): Promise<void>;
}

/** @throws SettingsError where the port is taken, or the port or the address may not be used */
export async function startHttpServer(
  app: RequestListener,
  listenAddress: ListenAddress,
  closerLimits: Partial<HttpLimits> = {},
): Promise<HttpServer> {
  const limits = { ...HTTP_LIMITS, ...closerLimits };
  const open = new OpenRequests();
  /** Connections that have not brought a request yet: to Node they are not idle. */
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
  const answers = new UntakenAnswers(open, { forMs: limits.answerMs, bytes: limits.unsentBytes });
  return {
    port,
    async stop() {
      const closed = once(server, 'close');
      stopping = true;
      for (const res of open.lastAnswers()) endConnection(res);
      // Not its own close(): that cuts the connections without a request, and with them requests that are on their way.
      NetServer.prototype.close.call(server);
      const stoppedAt = performance.now();
      const idle = setInterval(() => {
        if (performance.now() - stoppedAt <= LAST_REQUEST_WITHIN_MS) return;
        server.closeIdleConnections();
        for (const socket of unused) socket.destroy();
      }, 50);
      const late = setTimeout(() => server.closeAllConnections(), FINISH_WITHIN_MS);
      await closed;
      answers.stop();
      clearInterval(idle);
      clearTimeout(late);
    },
  };
}

/** A server that slow and hostile clients cannot hold up for others (docs/reliability.md). */
function guardedServer(open: OpenRequests, limits: HttpLimits, app: RequestListener): Server {
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    const waiting = open.add(req, res);
    if (waiting > limits.pipelined) {
      req.socket.destroy();
      return;
    }
    const fault = judgeHead(req, limits.headerLines);
    if (fault === null) app(req, res);
    else refuseRequest(res, fault.status, fault.title);
  };
  const server = createServer({
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(LOOK_EVERY_MS, limits.requestMs),
    // Node's own answer to a request without Host has no body.
    requireHostHeader: false,
  });
  // Node would drop what is beyond a number without a word, `Transfer-Encoding` too: the listener sees, and refuses, them all.
  server.maxHeadersCount = 0;
  server.on('request', listener);
  // An expectation that is none of ours is none that must be met (RFC 9110 section 10.1.1).
  server.on('checkExpectation', listener);
  server.on('clientError', answerClientErrors(open));
  return server;
}

/** The connection closes after this answer; a client that is told so does not send its next request into it. */
function endConnection(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
}
