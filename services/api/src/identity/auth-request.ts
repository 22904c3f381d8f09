import { isIPv6 } from 'node:net';
import type { Request, Response } from 'express';

/** Set on every request from Express' client address (`TRUST_PROXY`), so that clients cannot choose it. */
export const CLIENT_IP_HEADER = 'x-tocsin-client-ip';

/** Set on every request to its id in logs and responses. */
export const REQUEST_ID_HEADER = 'x-request-id';

/** Headers that better-auth receives. Others, such as `Host`, would let a client forge our address. */
const HEADERS = [
  'cookie',
  'origin',
  'referer',
  'user-agent',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
] as const;

export function authHeaders(req: Request): Headers {
  const headers = new Headers();
  for (const name of HEADERS) {
    const value = req.get(name);
    if (value !== undefined) headers.set(name, value);
  }
  const requestId = req.res?.get(REQUEST_ID_HEADER);
  if (requestId !== undefined) headers.set(REQUEST_ID_HEADER, requestId);
  if (req.ip !== undefined) headers.set(CLIENT_IP_HEADER, canonicalAddress(req.ip));
  return headers;
}

/** Shortens an IP address (RFC 5952) without its zone, and writes an IPv4-mapped one as IPv4. Keeps anything else. */
export function canonicalAddress(address: string): string {
  const bare = address.replace(/%.*$/, '');
  if (!isIPv6(bare)) return address;
  const short = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  return [high, low]
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255])
    .join('.');
}

export interface AuthRequest {
  readonly req: Request;
  readonly path: string;
  /** Validated fields from the query of a GET, or otherwise from the body. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Builds a request from validated fields, because better-auth accepts others that sign in. @param publicUrl replaces the `Host` header */
export function buildRequest({ req, path, fields }: AuthRequest, publicUrl: string): globalThis.Request {
  const url = new URL(path, publicUrl);
  const headers = authHeaders(req);
  if (req.method === 'POST') {
    headers.set('content-type', 'application/json');
    return new Request(url, { method: 'POST', headers, body: JSON.stringify(fields) });
  }
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, String(value));
  return new Request(url, { headers });
}

export async function forwardResponse(res: Response, response: globalThis.Response): Promise<void> {
  const body = await response.text();
  for (const [name, value] of response.headers) if (name !== 'set-cookie') res.set(name, value);
  for (const cookie of response.headers.getSetCookie()) res.append('Set-Cookie', cookie);
  res.status(response.status).end(body);
}
