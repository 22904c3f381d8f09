import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { SettingsError } from '@tocsin/runtime/env';
import { errorCode } from '@tocsin/runtime/error-code';

const FINISH_WITHIN_MS = 10_000;
/** How long a connection without a request may still bring one when the server stops, to be told not to bring another. */
const LAST_REQUEST_WITHIN_MS = 1_000;
/** Longer than a load balancer keeps its connections, so that it is the one to close them. */
const KEEP_ALIVE_MS = 65_000;

export interface HttpServer {
  readonly port: number;
  /**
   * Takes no more connections, tells those that are open with their next answer that it is the last one, and waits for the
   * requests under way, at most ten seconds.
   */
  stop(): Promise<void>;
}

/** @param port 0 for any free one. @throws SettingsError where it is taken or not allowed */
export async function startHttpServer(app: RequestListener, port: number): Promise<HttpServer> {
  const underWay = new Set<ServerResponse>();
  /** Connections that have not brought a request yet: to Node they are not idle. */
  const unused = new Set<Socket>();
  let stopping = false;
  const server = createServer({ headersTimeout: 20_000, requestTimeout: 30_000 }, (req, res) => {
    if (stopping) endConnection(res);
    unused.delete(req.socket);
    underWay.add(res);
    res.once('close', () => underWay.delete(res));
    app(req, res);
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('clientError', answerClientError);
  server.listen(port);
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    const reason = code === 'EACCES' ? 'may not be used by this user' : 'is in use';
    throw new SettingsError(`PORT must be a free port, but ${port} ${reason}: set PORT to another one`);
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async stop() {
      const closed = once(server, 'close');
      stopping = true;
      for (const res of underWay) endConnection(res);
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
      clearInterval(idle);
      clearTimeout(late);
    },
  };
}

/** The connection closes after this answer; a client that is told so does not send its next request into it. */
function endConnection(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
}

const STATUS_LINES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** What is not even HTTP reaches no handler; it is answered like any other error. */
function answerClientError(error: Error, socket: Duplex): void {
  if (errorCode(error) === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const line = STATUS_LINES[errorCode(error) ?? ''] ?? '400 Bad Request';
  const [status = '400', ...words] = line.split(' ');
  const requestId = randomUUID();
  const body = JSON.stringify({
    type: 'about:blank',
    title: words.join(' '),
    status: Number(status),
    detail: 'The request could not be read as HTTP.',
    instance: requestId,
  });
  socket.end(
    [
      `HTTP/1.1 ${line}`,
      'Connection: close',
      `X-Request-Id: ${requestId}`,
      'Content-Type: application/problem+json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
}
