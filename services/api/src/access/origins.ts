import type { Request } from 'express';
import { AppError } from '@tocsin/contracts/errors';

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'];
const MAX_SHOWN_CHARACTERS = 200;

/**
 * The origins at which the dashboard may be open, that of `PUBLIC_URL` first. If its host is this machine's loopback interface, the other
 * names of that interface are the same site. Otherwise they are not: anything may listen at that port of a visitor's own machine.
 */
export function trustedOrigins(publicUrl: string): readonly [string, ...string[]] {
  const { origin, protocol, hostname, port } = new URL(publicUrl);
  if (!LOOPBACK_HOSTS.includes(hostname) && !hostname.endsWith('.localhost')) return [origin];
  const aliases = LOOPBACK_HOSTS.map((host) => `${protocol}//${host}${port === '' ? '' : `:${port}`}`);
  return [origin, ...aliases.filter((alias) => alias !== origin)];
}

/**
 * Whether the page that sent a request is the dashboard. An alias of `PUBLIC_URL` must also be the host that the request was sent to:
 * another program may listen at the same port of another loopback address.
 */
export function isTrustedOrigin(req: Request, origin: string, trusted: readonly string[]): boolean {
  if (origin === trusted[0]) return true;
  return trusted.includes(origin) && new URL(origin).host === req.get('host');
}

/** The error for a request from another site; it says which address to open, or to set. @param origin undefined: not sent */
export function untrustedOrigin(origin: string | undefined, publicOrigin: string): AppError {
  return new AppError('untrusted_origin', describe(origin?.slice(0, MAX_SHOWN_CHARACTERS), publicOrigin));
}

function describe(origin: string | undefined, publicOrigin: string): string {
  if (origin === undefined) return `Send the Origin of the dashboard, ${publicOrigin}, with this request.`;
  const seen = `This request comes from ${origin}, and PUBLIC_URL is ${publicOrigin}.`;
  if (!/^https?:/.test(origin)) return `${seen} Open the dashboard at ${publicOrigin}.`;
  return `${seen} Open the dashboard at ${publicOrigin}, or set PUBLIC_URL to ${origin} and restart Tocsin.`;
}
