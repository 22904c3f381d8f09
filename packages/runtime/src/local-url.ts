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
