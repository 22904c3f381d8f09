import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { errorCode } from '@tocsin/runtime/error-code';

/** Below the ports that systems give to outgoing connections: those come and go between our look and the server's start. */
export const SERVER_PORTS = { first: 20_000, last: 31_999 } as const;
const ATTEMPTS = 100;

/**
 * A port that is free on every address, at random, so that processes which look at the same time find different ones.
 * Another process may take it before you do: be ready to ask again.
 */
export async function findFreePort(): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const port = randomInt(SERVER_PORTS.first, SERVER_PORTS.last + 1);
    if ((await isPortFree(port)) && (await isPortFree(port, '127.0.0.1'))) return port;
  }
  return listenOnce(0, '127.0.0.1');
}

/** Whether a server could listen on this port. Without a host: on all addresses, as most servers do. */
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
