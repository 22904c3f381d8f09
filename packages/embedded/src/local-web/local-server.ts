import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { findFreePort } from '../ports.ts';

const ATTEMPTS = 20;
const LOOPBACK = ['127.0.0.1'];

export interface LocalServerOptions {
  /** Loopback addresses that share one port. Defaults to 127.0.0.1. */
  readonly addresses?: readonly string[];
  /** PEM texts. If unset, the server speaks plain HTTP. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Awaited before the first byte of a connection is read. */
  readonly admit?: (address: string) => Promise<void>;
}

/** A local HTTP or HTTPS server that closes each connection after the response. */
export class LocalServer {
  readonly port: number;
  readonly #scheme: string;
  readonly #servers: readonly Server[];
  readonly #sockets: ReadonlyMap<string, Socket>;

  private constructor(
    scheme: string,
    port: number,
    servers: readonly Server[],
    sockets: ReadonlyMap<string, Socket>,
  ) {
    this.port = port;
    this.#scheme = scheme;
    this.#servers = servers;
    this.#sockets = sockets;
  }

  static async start(handler: RequestListener, options: LocalServerOptions = {}): Promise<LocalServer> {
    const { addresses = LOOPBACK, tls, admit } = options;
    const web = tls
      ? createHttpsServer({ ...tls, keepAlive: false }, handler)
      : createHttpServer({ keepAlive: false }, handler);
    // A client may end during its handshake.
    web.on('tlsClientError', () => undefined);
    const sockets = new Map<string, Socket>();
    const accept = async (socket: Socket, address: string): Promise<void> => {
      const peer = peerOf(socket);
      sockets.set(peer, socket);
      socket.on('close', () => sockets.delete(peer));
      // A client may reset the connection.
      socket.on('error', () => undefined);
      await admit?.(address);
      if (socket.destroyed) return;
      web.emit('connection', socket);
      socket.resume();
    };
    for (let attempt = 1; ; attempt += 1) {
      const servers = addresses.map((address) =>
        createServer({ pauseOnConnect: true, noDelay: true }, (socket) => void accept(socket, address)),
      );
      try {
        const port = addresses.length === 1 ? 0 : await findFreePort();
        for (const [index, server] of servers.entries()) {
          server.listen({ port, host: addresses[index], backlog: 4_096 });
          await once(server, 'listening');
        }
        const address = servers[0]?.address() as AddressInfo;
        return new LocalServer(tls ? 'https' : 'http', address.port, servers, sockets);
      } catch (error) {
        await Promise.all(servers.filter(({ listening }) => listening).map(close));
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attempt === ATTEMPTS) throw error;
      }
    }
  }

  url(path = '/', host = '127.0.0.1'): string {
    return `${this.#scheme}://${host}:${this.port}${path}`;
  }

  /** Resets the TCP connection of a request, including one with TLS. */
  reset({ socket }: IncomingMessage): void {
    this.#sockets.get(peerOf(socket))?.resetAndDestroy();
  }

  async stop(): Promise<void> {
    const closed = this.#servers.map(close);
    for (const socket of this.#sockets.values()) socket.destroy();
    await Promise.all(closed);
  }
}

function close(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}

function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress}:${remotePort}`;
}
