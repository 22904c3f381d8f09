import type { Request, Response } from 'express';

/** Set by us on every request, from what Express makes of `TRUST_PROXY`: a client cannot choose its own address. */
export const CLIENT_IP_HEADER = 'x-tocsin-client-ip';

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
  if (req.ip !== undefined) headers.set(CLIENT_IP_HEADER, req.ip);
  return headers;
}

/** What is asked of better-auth. */
export interface AuthAsk {
  readonly req: Request;
  /** Of the route, as `/api/auth/sign-out`. */
  readonly path: string;
  /** The validated fields of the query of a GET, else of the body. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * A request for better-auth, made of validated fields: it takes many that are documented nowhere, some of which sign in.
 * @param publicUrl the address people see, whatever a client says of it
 */
export function authRequest({ req, path, fields }: AuthAsk, publicUrl: string): globalThis.Request {
  const url = new URL(path, publicUrl);
  const headers = authHeaders(req);
  if (req.method === 'POST') {
    headers.set('content-type', 'application/json');
    return new Request(url, { method: 'POST', headers, body: JSON.stringify(fields) });
  }
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, String(value));
  return new Request(url, { headers });
}

/** Sends the answer of better-auth on. */
export async function sendAuthAnswer(res: Response, answer: globalThis.Response): Promise<void> {
  const body = await answer.text();
  for (const [name, value] of answer.headers) if (name !== 'set-cookie') res.set(name, value);
  for (const cookie of answer.headers.getSetCookie()) res.append('Set-Cookie', cookie);
  res.status(answer.status).end(body);
}
