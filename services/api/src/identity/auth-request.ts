import { isIPv6 } from 'node:net';
import type { Request, Response } from 'express';

/** Set on every request from the address that Express derives by `TRUST_PROXY`, so that clients cannot choose it. */
export const CLIENT_IP_HEADER = 'x-tocsin-client-ip';

/** Set on every request to the id that it has in logs and responses. */
export const REQUEST_ID_HEADER = 'x-request-id';

/** The request headers that better-auth receives. It gets no others, such as `Host`, with which a client could forge our address. */
const HEADERS = [
  'cookie',
  'origin',
  'referer',
  'user-agent',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
] as const;

/** The headers of a request, for better-auth. */
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

/** An IP address in its shortest form (RFC 5952), without a zone; an IPv4-mapped one as IPv4. Anything else stays as it is. */
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

/** A request for better-auth. */
export interface AuthRequest {
  readonly req: Request;
  /** Such as `/api/auth/sign-out`. */
  readonly path: string;
  /** The validated fields of the query of a GET, else of the body. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Builds a request from validated fields only: better-auth accepts undocumented ones, some of which sign in.
 * @param publicUrl used instead of the `Host` that the client sends
 */
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

/** Forwards a response of better-auth. */
export async function forwardResponse(res: Response, response: globalThis.Response): Promise<void> {
  const body = await response.text();
  for (const [name, value] of response.headers) if (name !== 'set-cookie') res.set(name, value);
  for (const cookie of response.headers.getSetCookie()) res.append('Set-Cookie', cookie);
  res.status(response.status).end(body);
}
