import type { RequestOptions } from 'node:http';
import { parseUrl } from '@tocsin/contracts/parse-url';
import { type HttpMethod, METHODS_WITH_BODY } from '@tocsin/contracts/vocabulary';
import { LENIENT_PARSING } from '@tocsin/egress/lenient-responses';
import { quote } from './redact.ts';

const CHECK_USER_AGENT = 'Tocsin/0.1 (+uptime check)';

export interface HopRequest {
  readonly url: URL;
  readonly method: HttpMethod;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: Buffer | null;
  /** Cookies that the target set earlier, appended to the monitor's Cookie header. Null for none. */
  readonly cookies: string | null;
}

export function firstRequest(
  url: URL,
  method: HttpMethod,
  headers: Readonly<Record<string, string>> | null,
  body: string | null,
): HopRequest {
  const sent = body !== null && METHODS_WITH_BODY.has(method);
  return { url, method, headers, body: sent ? Buffer.from(body) : null, cookies: null };
}

/** Makes the options of a request through the egress guard. The request never sends the user name and password of a URL. */
export function requestOptions(
  request: HopRequest,
  createConnection: RequestOptions['createConnection'],
): RequestOptions {
  const { url, method } = request;
  return {
    createConnection,
    path: url.pathname + url.search,
    method,
    ...LENIENT_PARSING,
    headers: rawHeaders(request),
  };
}

/** Node handles flat lists at a fraction of the cost of a header object. */
function rawHeaders({ url, method, headers, body, cookies }: HopRequest): string[] {
  const raw: string[] = [];
  const names = new Set<string>();
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined) continue;
    const lowerName = name.toLowerCase();
    raw.push(name, lowerName === 'cookie' && cookies !== null ? `${value}; ${cookies}` : value);
    names.add(lowerName);
  }
  if (!names.has('host')) raw.unshift('Host', url.host);
  if (!names.has('user-agent')) raw.push('User-Agent', CHECK_USER_AGENT);
  if (!names.has('accept')) raw.push('Accept', '*/*');
  if (!names.has('accept-encoding')) raw.push('Accept-Encoding', 'identity');
  if (cookies !== null && !names.has('cookie')) raw.push('Cookie', cookies);
  if (METHODS_WITH_BODY.has(method)) raw.push('Content-Length', String(body?.length ?? 0));
  // Without an agent, Node would offer to keep the connection of a request with a body.
  raw.push('Connection', 'close');
  return raw;
}

export const MAX_REDIRECTS = 5;

export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Returns the request that a redirect leads to, or why it cannot be followed. A new origin permanently loses custom headers and the body,
 * because a later redirect back must not send them to a page that the other origin chose.
 * @param location in Latin-1, as Node reads it
 */
export function redirectedRequest(
  request: HopRequest,
  statusCode: number,
  location: string | null,
): HopRequest | string {
  if (location === null || location === '') return `status ${statusCode} without a Location to follow`;
  // Servers send UTF-8 here, which Node reads as Latin-1.
  const text = Buffer.from(location, 'latin1').toString();
  const url = parseUrl(text, request.url.href);
  // Servers put tokens into queries and fragments.
  const redirect = `redirect to ${quote(text.replace(/[?#].*$/s, '…'))}`;
  if (url === null) return `${redirect} is not a valid URL`;
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `${redirect} leaves http and https`;
  const method = redirectedMethod(request.method, statusCode);
  if (url.origin !== request.url.origin) return { url, method, headers: null, body: null, cookies: null };
  if (method === request.method) return { ...request, url, cookies: null };
  return { url, method, headers: withoutContentHeaders(request.headers), body: null, cookies: null };
}

function redirectedMethod(method: HttpMethod, statusCode: number): HttpMethod {
  if (method === 'HEAD') return method;
  if (statusCode === 303) return 'GET';
  return (statusCode === 301 || statusCode === 302) && method === 'POST' ? 'GET' : method;
}

/** Removes headers that describe a body. */
function withoutContentHeaders(headers: HopRequest['headers']): HopRequest['headers'] {
  if (headers === null) return null;
  const kept = Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith('content-'));
  return Object.fromEntries(kept);
}
