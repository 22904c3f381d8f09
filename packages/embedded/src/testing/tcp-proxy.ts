import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface TcpProxyOptions {
  /** Local address to listen on. */
  readonly host?: string;
  /** Bytes arrive late, but in order and with any bandwidth. Each direction takes half of this time. */
  readonly roundTripMs?: number;
  /** Percentage of the chunks that arrive another second late, with everything behind them, as after the loss of a packet. */
  readonly stalls?: number;
}

const STALL_MS = 1_000;

/**
 * A local TCP proxy that delays or breaks the network between a client and a server. As with a load balancer, the proxy's kernel acknowledges
 * everything, so TCP keep-alives do not detect a broken path.
 */
export class TcpProxy {
  /** Closes the connection or starts a black hole when a client sends this text. Null for never. */
  failsAt: { readonly text: string; readonly how: 'close' | 'black hole' } | null = null;
  readonly #server: Server;
  readonly #urls: readonly string[];
  readonly #options: Required<TcpProxyOptions>;
  readonly #sockets = new Set<Socket>();
  #mode: 'forward' | 'hold' | 'black hole' = 'forward';
  readonly #lost = new WeakSet<Socket>();
  #accepted = 0;

  private constructor(server: Server, urls: readonly string[], options: Required<TcpProxyOptions>) {
    this.#server = server;
    this.#urls = urls;
    this.#options = options;
    server.on('connection', (client: Socket) => this.#forward(client));
  }

  /** @param urls URLs of the servers with a port, which take turns */
  static async start(
    urls: string | readonly string[],
    { host = '127.0.0.1', roundTripMs = 0, stalls = 0 }: TcpProxyOptions = {},
  ): Promise<TcpProxy> {
    // A black hole must not forward the end of a connection.
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    server.listen(0, host);
    await once(server, 'listening');
    return new TcpProxy(server, [urls].flat(), { host, roundTripMs, stalls });
  }

  get accepted(): number {
    return this.#accepted;
  }

  get isBlackHole(): boolean {
    return this.#mode === 'black hole';
  }

  /** Rewrites a URL to go through this proxy. */
  through(url: string): string {
    const changed = new URL(url);
    changed.hostname = this.#options.host;
    changed.port = String((this.#server.address() as AddressInfo).port);
    return changed.href;
  }

  /** Stops forwarding without closing connections. `heal` forwards data that arrived in between, like a frozen server. */
  hold(): void {
    this.#mode = 'hold';
    for (const socket of this.#sockets) socket.pause();
  }

  /** Stops forwarding without closing connections. These connections stay silent even after `heal`, like connections that a NAT has dropped. */
  blackHole(): void {
    this.#mode = 'black hole';
    for (const socket of this.#sockets) this.#lost.add(socket);
  }

  /** Forwards new connections, and connections that `hold` paused. */
  heal(): void {
    this.#mode = 'forward';
    for (const socket of this.#sockets) socket.resume();
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #forward(client: Socket): void {
    const { hostname: host, port } = new URL(this.#urls[this.#accepted % this.#urls.length] ?? '');
    this.#accepted += 1;
    const server = connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true });
    client.on('data', (bytes: Buffer) => {
      if (this.failsAt === null || !bytes.includes(this.failsAt.text)) return;
      if (this.failsAt.how === 'close') client.destroy();
      else this.blackHole();
    });
    this.#pipe(client, server);
    this.#pipe(server, client);
  }

  #pipe(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    if (this.#mode === 'black hole') this.#lost.add(from);
    from.on('error', () => undefined);
    const deliver = this.#delayed();
    from.on('data', (bytes: Buffer) => {
      if (!from.destroyed && !this.#lost.has(from)) deliver(() => to.write(bytes));
    });
    from.on('end', () => {
      if (!this.#lost.has(from)) deliver(() => to.end());
    });
    from.on('close', () => {
      this.#sockets.delete(from);
      if (!this.#lost.has(from)) deliver(() => to.destroy());
    });
    if (this.#mode === 'hold') from.pause();
  }

  /** Returns a function that calls functions in order, each after the delay of one direction. */
  #delayed(): (deliver: () => unknown) => void {
    const { roundTripMs, stalls } = this.#options;
    if (roundTripMs === 0 && stalls === 0) return (deliver) => void deliver();
    const queue: { readonly dueAt: number; readonly deliver: () => unknown }[] = [];
    let lastDueAt = 0;
    const deliverDue = (): void => {
      while (queue[0] !== undefined && queue[0].dueAt <= performance.now()) queue.shift()?.deliver();
      if (queue[0] !== undefined) setTimeout(deliverDue, Math.ceil(queue[0].dueAt - performance.now()));
    };
    return (deliver) => {
      const takesMs = roundTripMs / 2 + (Math.random() * 100 < stalls ? STALL_MS : 0);
      lastDueAt = Math.max(lastDueAt, performance.now() + takesMs);
      queue.push({ dueAt: lastDueAt, deliver });
      if (queue.length === 1) setTimeout(deliverDue, Math.ceil(takesMs));
    };
  }
}
