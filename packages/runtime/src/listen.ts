import { once } from 'node:events';
import type { Server } from 'node:net';
import { SettingsError } from './env.ts';
import { errorCode } from './error-code.ts';

/** Where a server listens. */
export interface ListenAddress {
  /** 0 for any free one. */
  readonly port: number;
  /** An IP address of this machine; undefined: all of them. */
  readonly host?: string | undefined;
}

/**
 * Makes a server listen.
 * @param settings the names of the settings that `address` comes from, for errors
 * @returns the port
 * @throws SettingsError where the port is taken, or the port or the address may not be used
 */
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
    if (code === 'EADDRNOTAVAIL') {
      throw new SettingsError(`${settings.host} must be an IP address of this machine, and ${host} is not`);
    }
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    const reason = code === 'EACCES' ? 'may not be used by this user' : 'is in use';
    throw new SettingsError(
      `${settings.port} must be a free port, but ${port} ${reason}: set ${settings.port} to another one`,
    );
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/** Addresses to listen on: a server on one of these answers at `localhost`. */
const AT_LOCALHOST: ReadonlySet<string> = new Set(['0.0.0.0', '::', '127.0.0.1']);

/** @param host the address a server listens on; undefined: all */
export function isAtLocalhost(host: string | undefined): boolean {
  return host === undefined || AT_LOCALHOST.has(host);
}

/**
 * The URL at which a server is reached from its own machine.
 * @param host the address it listens on; undefined: all
 */
export function localUrl(host: string | undefined, port: number): string {
  if (host === undefined || isAtLocalhost(host)) return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
