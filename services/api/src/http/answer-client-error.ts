import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorCode } from '@tocsin/runtime/error-code';
import type { OpenRequests } from './open-requests.ts';

/** How long a client may take to close its side after it was told why the connection ends. */
const LINGER_MS = 1_000;

const STATUS_LINES: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};

/**
 * What is not even HTTP, or does not come to its end in time, reaches no handler; it is answered like any other error. Where an
 * answer has begun, or one of an earlier request is still to come, the connection is cut: the client would read this as part of that.
 */
export function answerClientErrors(open: OpenRequests): (error: Error, socket: Duplex) => void {
  return function answerClientError(error, socket) {
    if (errorCode(error) === 'ECONNRESET' || !socket.writable || !open.isAnswerable(socket)) {
      socket.destroy();
      return;
    }
    const [status, title] = STATUS_LINES[errorCode(error) ?? ''] ?? [400, 'Bad Request'];
    const { headers, body } = protocolProblem(status, title);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    socket.end([`HTTP/1.1 ${status} ${title}`, ...lines, '', body].join('\r\n'));
    const linger = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(linger));
  };
}

/** Refuses a request whose head breaks HTTP in a way that Node lets pass. The connection ends with the answer. */
export function refuseRequest(res: ServerResponse, status: number, title: string): void {
  const { headers, body } = protocolProblem(status, title);
  res.writeHead(status, title, headers).end(body);
}

function protocolProblem(status: number, title: string): { headers: Record<string, string>; body: string } {
  const requestId = randomUUID();
  const detail = 'The request could not be read as HTTP.';
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, instance: requestId });
  const headers = {
    Connection: 'close',
    'X-Request-Id': requestId,
    'Content-Type': 'application/problem+json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
  };
  return { headers, body };
}
