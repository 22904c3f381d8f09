import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A web server on this machine that answers as it is told: something for monitors to watch. */
export class HttpTarget {
  /** What it answers from now on. */
  status = 200;
  body = 'ok';
  /** Takes requests and never answers them. */
  hangs = false;
  /** Milliseconds from a request to its answer. */
  delayMs = 0;
  /** Requests answered so far, by path. */
  readonly requests = new Map<string, number>();
  /** Those of the last request. */
  headers: IncomingHttpHeaders = {};
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      const path = request.url ?? '/';
      this.requests.set(path, (this.requests.get(path) ?? 0) + 1);
      this.headers = request.headers;
      request.resume();
      if (!this.hangs) void this.#answer(response);
    });
  }

  static async start(): Promise<HttpTarget> {
    const server = createServer({ keepAlive: false });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HttpTarget(server);
  }

  async #answer(response: ServerResponse): Promise<void> {
    if (this.delayMs > 0) await delay(this.delayMs);
    response.writeHead(this.status, { 'Content-Type': 'text/plain' }).end(this.body);
  }

  /** The address of a path on it. */
  url(path = '/'): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}${path}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
