import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { parseUrl } from '@tocsin/contracts/parse-url';
import { errorCode } from '@tocsin/runtime/error-code';
import { VERSION } from '../version.ts';
import type { OpenRequests } from './open-requests.ts';

/** Clients may take this long to close their side after an error response. */
const LINGER_MS = 1_000;

const STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * Responds with a problem to bytes that are not HTTP or arrive too late. Cuts the connection if the client would read the problem as part
 * of another response.
 */
export function handleClientErrors(open: OpenRequests): (error: Error, socket: Duplex) => void {
  return function handleClientError(error, socket) {
    if (errorCode(error) === 'ECONNRESET' || !socket.writable || !open.canRespond(socket)) {
      socket.destroy();
      return;
    }
    const status = STATUSES[errorCode(error) ?? ''] ?? 400;
    const { title, headers, body } = protocolProblem(status);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    socket.end([`HTTP/1.1 ${status} ${title}`, ...lines, '', body].join('\r\n'));
    const linger = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(linger));
  };
}

/** Refuses a request with an invalid head, and ends the connection. */
export function refuseRequest(res: ServerResponse, status: number): void {
  const { title, headers, body } = protocolProblem(status);
  res.writeHead(status, title, headers).end(body);
}

function protocolProblem(status: number): { title: string; headers: Record<string, string>; body: string } {
  const title = STATUS_CODES[status] ?? '';
  const requestId = randomUUID();
  const detail = 'The request could not be read as HTTP.';
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, instance: requestId });
  const headers = {
    Connection: 'close',
    'X-Request-Id': requestId,
    'Tocsin-Version': VERSION,
    'Content-Type': 'application/problem+json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
  };
  return { title, headers, body };
}

/** Validates a head against RFC 9112, and reduces a full URL to its path. @returns the status code of the error, or null */
export function validateHead(req: IncomingMessage, maxLines: number): 400 | 431 | null {
  if (req.rawHeaders.length > 2 * maxLines) return 431;
  return namesOneHost(req) && hasKnownFraming(req) && readTarget(req) ? null : 400;
}

/** RFC 9112, section 3.2: an HTTP/1.1 request names its host once. */
function namesOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  const lines = names.filter((name) => name.toLowerCase() === 'host').length;
  return lines === 1 || (lines === 0 && httpVersion !== '1.1');
}

/** Node ignores other codings, and reports them only after the handler has begun. */
function hasKnownFraming({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked';
}

/** RFC 9112, section 3.2.2: the target may be a full URL. @returns whether it is valid */
function readTarget(req: IncomingMessage): boolean {
  const { url = '' } = req;
  if (url.startsWith('/') || url === '*') return true;
  const target = parseUrl(url);
  if (target === null || !/^https?:$/.test(target.protocol)) return false;
  req.url = target.pathname + target.search;
  return true;
}
