import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * A local TCP proxy that breaks the network between a client and a server. As with a load balancer, the proxy's kernel acknowledges
 * everything, so TCP keep-alives do not detect a broken path.
 */
export class TcpProxy {
  /** Closes the connection or starts a black hole when a client sends this text. Null for never. */
  failsAt: { readonly text: string; readonly how: 'close' | 'black hole' } | null = null;
  readonly #server: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #host: string;
  readonly #sockets = new Set<Socket>();
  #mode: 'forward' | 'hold' | 'black hole' = 'forward';
  readonly #lost = new WeakSet<Socket>();
  #accepted = 0;

  private constructor(
    server: Server,
    target: { readonly host: string; readonly port: number },
    host: string,
  ) {
    this.#server = server;
    this.#target = target;
    this.#host = host;
    server.on('connection', (client: Socket) => this.#forward(client));
  }

  /**
   * @param url URL of the server with a port
   * @param host local address to listen on
   */
  static async start(url: string, host = '127.0.0.1'): Promise<TcpProxy> {
    const { hostname, port } = new URL(url);
    // A black hole must not forward the end of a connection.
    const server = createServer({ allowHalfOpen: true });
    server.listen(0, host);
    await once(server, 'listening');
    return new TcpProxy(server, { host: hostname, port: Number(port) }, host);
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
    changed.hostname = this.#host;
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
    this.#accepted += 1;
    const server = connect({ ...this.#target, allowHalfOpen: true });
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
    from.on('data', (bytes: Buffer) => {
      if (!from.destroyed && !this.#lost.has(from)) to.write(bytes);
    });
    from.on('end', () => {
      if (!this.#lost.has(from)) to.end();
    });
    from.on('close', () => {
      this.#sockets.delete(from);
      if (!this.#lost.has(from)) to.destroy();
    });
    if (this.#mode === 'hold') from.pause();
  }
}
