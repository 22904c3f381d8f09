import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { findFreePort } from '@tocsin/embedded/ports';

const ATTEMPTS = 20;

/** Servers of one port on several loopback addresses. */
export interface Listeners {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Takes connections on one port of each of these addresses.
 * @param onConnection the socket is paused; it is told which of the addresses it came to
 */
export async function listenOn(
  addresses: readonly string[],
  onConnection: (socket: Socket, address: string) => void,
): Promise<Listeners> {
  for (let attempt = 1; ; attempt += 1) {
    const servers: Server[] = [];
    const sockets = new Set<Socket>();
    const close = async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    };
    try {
      const port = await findFreePort();
      for (const address of addresses) {
        const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
          sockets.add(socket);
          socket.on('close', () => sockets.delete(socket));
          // Whoever asked may be killed, or break off.
          socket.on('error', () => undefined);
          onConnection(socket, address);
        });
        servers.push(server);
        server.listen({ port, host: address, backlog: 1_024 });
        await once(server, 'listening');
      }
      return { port, close };
    } catch (error) {
      await close();
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attempt === ATTEMPTS) throw error;
    }
  }
}
