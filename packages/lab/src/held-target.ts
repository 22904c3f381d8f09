import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A web server on this machine that answers nothing until it is told to: a check of it is under way for as long as a test wants. */
export class HeldTarget {
  /** Requests so far. */
  asked = 0;
  readonly #server: Server;
  readonly #waiting = new Set<ServerResponse>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (_request, response) => {
      this.asked += 1;
      this.#waiting.add(response);
    });
  }

  static async start(): Promise<HeldTarget> {
    const server = createServer({ keepAlive: false });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HeldTarget(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Answers all requests that wait with 200. */
  release(): void {
    for (const response of this.#waiting) response.end();
    this.#waiting.clear();
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
