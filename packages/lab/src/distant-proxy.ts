import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Holds chunks back with everything behind them, as after the loss of a packet. */
interface Stalls {
  readonly share: number;
  readonly lastMs: number;
  /** Returns a number from 0 to 1 for each chunk. Defaults to `Math.random`. */
  readonly random?: () => number;
}

export interface DistantProxyOptions {
  /** Each direction takes half of this time. */
  readonly roundTripMs: number;
  readonly stalls?: Stalls;
}

/**
 * A TCP proxy that simulates a distant server. Bytes arrive late, but in order and with any bandwidth. Run it as a separate process for
 * measurements.
 */
export class DistantProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param url of the server, with its port */
  static async start(url: string, options: DistantProxyOptions): Promise<DistantProxy> {
    const { hostname: host, port } = new URL(url);
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
    const proxy = new DistantProxy(server);
    server.on('connection', (client) => proxy.#forward(client, { host, port: Number(port) }, options));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  through(url: string): string {
    const changed = new URL(url);
    changed.hostname = '127.0.0.1';
    changed.port = String((this.#server.address() as AddressInfo).port);
    return changed.href;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #forward(client: Socket, target: { host: string; port: number }, options: DistantProxyOptions): void {
    this.#watch(client);
    // The client is already connected, but across a distance it could send nothing before a round trip.
    setTimeout(() => {
      if (client.destroyed) return;
      const server = connect({ ...target, allowHalfOpen: true, noDelay: true });
      this.#watch(server);
      forwardLate(client, server, options);
      forwardLate(server, client, options);
    }, options.roundTripMs);
  }

  #watch(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

/** Forwards the data, the end and the loss of a socket in this order, each after half a round trip. */
function forwardLate(from: Socket, to: Socket, { roundTripMs, stalls }: DistantProxyOptions): void {
  const queue: { readonly dueAt: number; readonly deliver: () => void }[] = [];
  let lastDueAt = 0;
  let timer: NodeJS.Timeout | null = null;
  const deliverDue = (): void => {
    timer = null;
    for (let head = queue[0]; head !== undefined; head = queue[0]) {
      const early = head.dueAt - performance.now();
      if (early > 0) {
        timer = setTimeout(deliverDue, Math.ceil(early));
        return;
      }
      queue.shift();
      head.deliver();
    }
  };
  const send = (deliver: () => void): void => {
    const isStalled = stalls !== undefined && (stalls.random ?? Math.random)() < stalls.share;
    const takesMs = roundTripMs / 2 + (isStalled ? stalls.lastMs : 0);
    lastDueAt = Math.max(lastDueAt, performance.now() + takesMs);
    queue.push({ dueAt: lastDueAt, deliver });
    if (timer === null) deliverDue();
  };
  from.on('data', (bytes) => send(() => to.write(bytes)));
  from.on('end', () => send(() => to.end()));
  from.on('close', () => send(() => from.readableEnded || to.resetAndDestroy()));
  from.resume();
}
