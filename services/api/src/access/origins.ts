import type { Request } from 'express';
import { AppError } from '@tocsin/contracts/errors';

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'];
const MAX_SHOWN_CHARACTERS = 200;

/**
 * Origins of the dashboard, beginning with that of `PUBLIC_URL`. If this is a loopback address, the other loopback names are the same site.
 * Otherwise they are not, because anything may listen at that port of a visitor's machine.
 */
export function trustedOrigins(publicUrl: string): readonly [string, ...string[]] {
  const { origin, protocol, hostname, port } = new URL(publicUrl);
  if (!LOOPBACK_HOSTS.includes(hostname) && !hostname.endsWith('.localhost')) return [origin];
  const aliases = LOOPBACK_HOSTS.map((host) => `${protocol}//${host}${port === '' ? '' : `:${port}`}`);
  return [origin, ...aliases.filter((alias) => alias !== origin)];
}

/**
 * Returns whether the dashboard sent a request. An alias of `PUBLIC_URL` must also be the requested host, because another program may
 * listen on the same port of another loopback address.
 */
export function isTrustedOrigin(req: Request, origin: string, trusted: readonly string[]): boolean {
  if (origin === trusted[0]) return true;
  return trusted.includes(origin) && new URL(origin).host === req.get('host');
}

/** The error for a request from another site, with the address to open or to set. @param origin undefined if not sent */
export function untrustedOrigin(origin: string | undefined, publicOrigin: string): AppError {
  return new AppError('untrusted_origin', describe(origin?.slice(0, MAX_SHOWN_CHARACTERS), publicOrigin));
}

function describe(origin: string | undefined, publicOrigin: string): string {
  if (origin === undefined) return `Send the Origin of the dashboard, ${publicOrigin}, with this request.`;
  const seen = `This request comes from ${origin}, and PUBLIC_URL is ${publicOrigin}.`;
  if (!/^https?:/.test(origin)) return `${seen} Open the dashboard at ${publicOrigin}.`;
  return `${seen} Open the dashboard at ${publicOrigin}, or set PUBLIC_URL to ${origin} and restart Tocsin.`;
}
