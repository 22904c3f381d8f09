import net from 'node:net';
import { SERVER_PORTS } from '@tocsin/embedded/ports';

/** Every other server of a test run has a port of `SERVER_PORTS`, or one from here on that the system chose. */
const FIRST_EPHEMERAL_PORT = 32_768;

/**
 * Notes the attempts of this process to open TCP connections, whether or not anybody answers. An attempt to another server of the
 * test run is not noted: a client of an earlier test file in the same process may still try to reconnect to its own.
 */
export class ConnectionWatch {
  readonly #addresses = new Set<string>();
  readonly #original: unknown = Reflect.get(net.Socket.prototype, 'connect');

  constructor() {
    const addresses = this.#addresses;
    const connect = this.#original as (this: net.Socket, ...args: unknown[]) => net.Socket;
    function watchedConnect(this: net.Socket, ...args: unknown[]): net.Socket {
      this.on('connectionAttempt', (ip: string, port: number) => {
        const isServer = port >= SERVER_PORTS.first && port <= SERVER_PORTS.last;
        if (!isServer && port < FIRST_EPHEMERAL_PORT) addresses.add(ip);
      });
      return connect.apply(this, args);
    }
    Reflect.set(net.Socket.prototype, 'connect', watchedConnect);
  }

  /** The addresses tried since the last call, each once. */
  take(): string[] {
    const taken = [...this.#addresses];
    this.#addresses.clear();
    return taken;
  }

  stop(): void {
    Reflect.set(net.Socket.prototype, 'connect', this.#original);
  }
}
