import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { parseUrl } from '@tocsin/contracts/parse-url';
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

/** What is wrong with the head of a request that Node lets pass. */
export interface HeadFault {
  readonly status: 400 | 431;
  readonly title: string;
}

/** Judges by RFC 9112, and makes a path of a target that is a whole URL. @returns null: nothing is wrong */
export function judgeHead(req: IncomingMessage, mostLines: number): HeadFault | null {
  if (req.rawHeaders.length > 2 * mostLines) return fault(431);
  return namesOneHost(req) && hasKnownFraming(req) && readTarget(req) ? null : fault(400);
}

function fault(status: HeadFault['status']): HeadFault {
  return { status, title: STATUS_CODES[status] ?? '' };
}

/** RFC 9112 section 3.2: a request of HTTP/1.1 names its host, once. */
function namesOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  const lines = names.filter((name) => name.toLowerCase() === 'host').length;
  return lines === 1 || (lines === 0 && httpVersion !== '1.1');
}

/** Node reads a body in any other coding as if it were in none, and only finds out after the handler has begun. */
function hasKnownFraming({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked';
}

/** RFC 9112 section 3.2.2: a target may be a whole URL, of which the path counts here. @returns whether it can be read */
function readTarget(req: IncomingMessage): boolean {
  const { url = '' } = req;
  if (url.startsWith('/') || url === '*') return true;
  const target = parseUrl(url);
  if (target === null || !/^https?:$/.test(target.protocol)) return false;
  req.url = target.pathname + target.search;
  return true;
}
