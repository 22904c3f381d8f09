import { createServer } from 'node:net';
import { errorCode } from '@tocsin/runtime/error-code';

/** A free port of the loopback interface. Another process may take it before you do: be ready to ask again. */
export async function findFreePort(): Promise<number> {
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
