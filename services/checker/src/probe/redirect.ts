import { parseUrl } from '@tocsin/contracts/parse-url';
import type { HttpMethod } from '@tocsin/contracts/vocabulary';
import type { HopRequest } from './hop-request.ts';
import { quoteForeign } from './quote-foreign.ts';

/** How many redirects a check follows (design §4 "Check"). */
export const MAX_REDIRECTS = 5;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Whether this status sends a client elsewhere (300, 304 and 305 do not). */
export function isRedirect(statusCode: number): boolean {
  return REDIRECTS.has(statusCode);
}

/**
 * The request that a redirect asks for (design §4 "Check"), or in words why it cannot be followed. Custom headers and
 * body stay behind for good once the origin changes: a later hop back must not hand them to a page the other origin chose.
 * Cookies that the target set are for the caller to add.
 * @param location the Location header as Node read it (Latin-1), null without one
 */
export function redirectedRequest(
  request: HopRequest,
  statusCode: number,
  location: string | null,
): HopRequest | string {
  if (location === null || location === '') return `status ${statusCode} came without a Location to follow`;
  // Servers send UTF-8 here, which Node reads as Latin-1.
  const text = Buffer.from(location, 'latin1').toString();
  const url = parseUrl(text, request.url.href);
  if (url === null) return `the redirect to ${quoteForeign(withoutQuery(text))} is no valid URL`;
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return `the redirect to ${quoteForeign(withoutQuery(text))} leaves http and https`;
  }
  const method = redirectedMethod(request.method, statusCode);
  if (url.origin !== request.url.origin) return { url, method, headers: null, body: null, cookies: null };
  if (method === request.method) return { ...request, url, cookies: null };
  return { url, method, headers: withoutContentHeaders(request.headers), body: null, cookies: null };
}

/** A query or fragment is where servers put tokens. */
function withoutQuery(location: string): string {
  return location.replace(/[?#].*$/s, '…');
}

function redirectedMethod(method: HttpMethod, statusCode: number): HttpMethod {
  if (method === 'HEAD') return method;
  if (statusCode === 303) return 'GET';
  return (statusCode === 301 || statusCode === 302) && method === 'POST' ? 'GET' : method;
}

/** A request that lost its body must not describe one. */
function withoutContentHeaders(headers: HopRequest['headers']): HopRequest['headers'] {
  if (headers === null) return null;
  const kept = Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith('content-'));
  return Object.fromEntries(kept);
}
