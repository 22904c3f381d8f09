import type { RequestOptions } from 'node:http';
import { METHODS_WITH_BODY, type HttpMethod } from '@tocsin/contracts/vocabulary';
import type { Egress } from '@tocsin/egress/create-egress';
import type { LookupOwner } from '@tocsin/egress/fair-lookup';

/** What checks call themselves unless the monitor's headers say otherwise. */
const CHECK_USER_AGENT = 'Tocsin/0.1 (+uptime check)';

/** Generous for real sites, and the bound on endless headers. */
const MAX_HEADER_BYTES = 64 * 1024;

/** One request of a check: the first, or the one a redirect asks for. */
export interface HopRequest {
  readonly url: URL;
  readonly method: HttpMethod;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: Buffer | null;
  /** What the target set on the way here; null for nothing. It goes behind a Cookie header of the monitor. */
  readonly cookies: string | null;
}

/** The first request of a check; a body goes only with the methods that send one (specification "Request body"). */
export function firstRequest(
  url: URL,
  method: HttpMethod,
  headers: Readonly<Record<string, string>> | null,
  body: string | null,
): HopRequest {
  const sent = body !== null && METHODS_WITH_BODY.has(method);
  return { url, method, headers, body: sent ? Buffer.from(body) : null, cookies: null };
}

/** Node's options for a request over http or https through the egress guard. User name and password of a URL are never sent. */
export function requestOptions(request: HopRequest, egress: Egress, owner: LookupOwner): RequestOptions {
  const { url, method } = request;
  return {
    createConnection: egress.connectionTo(url, owner),
    path: url.pathname + url.search,
    method,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Accepts what other clients accept: folded headers, lines that end in LF, a length beside chunks, spaces after a chunk size. This is
    // safe because a connection carries one response and is then closed.
    insecureHTTPParser: true,
    headers: rawHeaders(request),
  };
}

/** A flat list of names and values: Node writes it as it stands, which costs a fraction of a header object. */
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
  // Without an agent, Node would promise to keep the connection of a request with a body.
  raw.push('Connection', 'close');
  return raw;
}
