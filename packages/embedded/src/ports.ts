import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { errorCode } from '@tocsin/runtime/error-code';
import { EmbeddedError } from './embedded-error.ts';

/** Below the ephemeral ports, because outgoing connections could take those before the server starts. */
export const SERVER_PORTS = { first: 20_000, last: 31_999 } as const;
const ATTEMPTS = 100;

/**
 * Finds a random port that is free on all addresses. Concurrent callers usually get different ports, but another process may still take the
 * port first, so be ready to retry.
 */
export async function findFreePort(): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const port = randomInt(SERVER_PORTS.first, SERVER_PORTS.last + 1);
    if ((await isPortFree(port)) && (await isPortFree(port, '127.0.0.1'))) return port;
  }
  return listenOnce(0, '127.0.0.1');
}

/** True if a server can listen on the port. Without a host, on all addresses. */
export async function isPortFree(port: number, host?: string): Promise<boolean> {
  try {
    await listenOnce(port, host);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE') return false;
    throw error;
  }
}

async function listenOnce(port: number, host?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}

/** Returns the wanted port, the port of the last start, or a free port. @throws EmbeddedError if the wanted port is in use */
export async function choosePort(server: string, folder: string, wanted?: number): Promise<number> {
  if (wanted !== undefined) {
    if (await isPortFree(wanted, '127.0.0.1')) return wanted;
    throw new EmbeddedError(`${server} cannot listen on port ${wanted}: it is in use`);
  }
  const known = await rememberedPort(folder);
  return known !== undefined && (await isPortFree(known, '127.0.0.1')) ? known : findFreePort();
}

export async function rememberedPort(folder: string): Promise<number | undefined> {
  const port = Number.parseInt(await readFile(join(folder, 'port'), 'utf8').catch(() => ''), 10);
  return port > 0 && port < 65_536 ? port : undefined;
}
