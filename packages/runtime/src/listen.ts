import { once } from 'node:events';
import type { Server } from 'node:net';
import { SettingsError } from './env.ts';
import { errorCode } from './error-code.ts';

export interface ListenAddress {
  readonly port: number;
  /** IP address of this machine. Undefined listens on all addresses. */
  readonly host?: string | undefined;
}

/** Listens and returns the port. @throws SettingsError that names one of `settings` if the address cannot be used */
export async function listen(
  server: Server,
  { port, host }: ListenAddress,
  settings: { readonly port: string; readonly host: string },
): Promise<number> {
  server.listen({ port, ...(host !== undefined && { host }) });
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EADDRNOTAVAIL')
      throw new SettingsError(`${settings.host} must be an IP address of this machine, and ${host} is not`);
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    const reason = code === 'EACCES' ? 'is not permitted for this user' : 'is in use';
    throw new SettingsError(`${settings.port} must be a free port, but ${port} ${reason}. Set another port.`);
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/** @param host address that the server listens on, or undefined for all */
export function isAtLocalhost(host: string | undefined): boolean {
  return host === undefined || ['0.0.0.0', '::', '127.0.0.1'].includes(host);
}

/** Returns the URL of a server on its own machine. @param host address that the server listens on, or undefined for all */
export function localUrl(host: string | undefined, port: number): string {
  if (host === undefined || isAtLocalhost(host)) return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
