import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { SettingsError } from '@tocsin/runtime/env';
import { errorCode } from '@tocsin/runtime/error-code';

const FINISH_WITHIN_MS = 10_000;
/** Longer than a load balancer keeps its connections, so that it is the one to close them. */
const KEEP_ALIVE_MS = 65_000;

export interface HttpServer {
  readonly port: number;
  /** Takes no more connections and waits for the requests under way, at most ten seconds. */
  stop(): Promise<void>;
}

/** @param port 0 for any free one. @throws SettingsError where it is taken or not allowed */
export async function startHttpServer(app: RequestListener, port: number): Promise<HttpServer> {
  const server = createServer({ headersTimeout: 20_000, requestTimeout: 30_000 }, app);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
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
      server.close();
      // A connection that answers its last request may stay open for the next one.
      const idle = setInterval(() => server.closeIdleConnections(), 50);
      const late = setTimeout(() => server.closeAllConnections(), FINISH_WITHIN_MS);
      await closed;
      clearInterval(idle);
      clearTimeout(late);
    },
  };
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
