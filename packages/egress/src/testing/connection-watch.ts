import net from 'node:net';
import { SERVER_PORTS } from '@tocsin/embedded/ports';

/** Servers of a test run listen here, except those of an attack ground. */
const SERVER_ADDRESSES: ReadonlySet<string> = new Set(['127.0.0.1', '::1']);
/** The system chooses ports from here on. A server in a test run has one of these ports, or one of `SERVER_PORTS`. */
const FIRST_EPHEMERAL_PORT = 32_768;

/**
 * Records attempts of this process to open TCP connections, whether or not a server responds. All test files of a process share `net`, and a
 * client from an earlier file may still try to reconnect. Addresses and ports where servers of a test run may listen are therefore ignored.
 */
export class ConnectionWatch {
  readonly #addresses = new Set<string>();
  readonly #original: unknown = Reflect.get(net.Socket.prototype, 'connect');

  constructor() {
    const addresses = this.#addresses;
    const connect = this.#original as (this: net.Socket, ...args: unknown[]) => net.Socket;
    function watchedConnect(this: net.Socket, ...args: unknown[]): net.Socket {
      this.on('connectionAttempt', (ip: string, port: number) => {
        if (!mayBeServer(ip, port)) addresses.add(ip);
      });
      return connect.apply(this, args);
    }
    Reflect.set(net.Socket.prototype, 'connect', watchedConnect);
  }

  /** Returns each address tried since the last call, once. */
  take(): string[] {
    const taken = [...this.#addresses];
    this.#addresses.clear();
    return taken;
  }

  stop(): void {
    Reflect.set(net.Socket.prototype, 'connect', this.#original);
  }
}

function mayBeServer(ip: string, port: number): boolean {
  const isServerPort =
    (port >= SERVER_PORTS.first && port <= SERVER_PORTS.last) || port >= FIRST_EPHEMERAL_PORT;
  return isServerPort && SERVER_ADDRESSES.has(ip);
}
