import { STATUS_CODES } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { parseUrl } from '@tocsin/contracts/parse-url';

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
