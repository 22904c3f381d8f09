import net from 'node:net';

/** An address that this process tried to connect to. */
export interface ConnectionAttempt {
  readonly ip: string;
  readonly port: number;
}

/** Notes every attempt of this process to open a TCP connection, whoever makes it, whether or not anybody answers. */
export class ConnectionWatch {
  readonly #attempts: ConnectionAttempt[] = [];
  readonly #original: unknown = Reflect.get(net.Socket.prototype, 'connect');

  constructor() {
    const attempts = this.#attempts;
    const connect = this.#original as (this: net.Socket, ...args: unknown[]) => net.Socket;
    function watchedConnect(this: net.Socket, ...args: unknown[]): net.Socket {
      this.on('connectionAttempt', (ip: string, port: number) => attempts.push({ ip, port }));
      return connect.apply(this, args);
    }
    Reflect.set(net.Socket.prototype, 'connect', watchedConnect);
  }

  /** The addresses tried since the last call, each once. @param elsewhere ports of servers that the test itself uses */
  take(elsewhere: readonly number[] = []): string[] {
    const taken = this.#attempts.splice(0).filter(({ port }) => !elsewhere.includes(port));
    return [...new Set(taken.map(({ ip }) => ip))];
  }

  stop(): void {
    Reflect.set(net.Socket.prototype, 'connect', this.#original);
  }
}
