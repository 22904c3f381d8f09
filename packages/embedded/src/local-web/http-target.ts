import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { LocalServer } from './local-server.ts';

/** A web server on this machine for monitors to watch. Its fields control how it responds. */
export class HttpTarget {
  status = 200;
  body = 'ok';
  /** Leaves requests without a response until `release`. */
  hangs = false;
  /** Milliseconds from a request to its response. */
  delayMs = 0;
  /** Requests so far, by path. */
  readonly requests = new Map<string, number>();
  /** The headers of the last request. */
  headers: IncomingHttpHeaders = {};
  readonly #waiting = new Set<ServerResponse>();
  #server!: LocalServer;

  static async start(options: { readonly hangs?: boolean } = {}): Promise<HttpTarget> {
    const target = new HttpTarget();
    target.hangs = options.hangs ?? false;
    target.#server = await LocalServer.start((request, response) => {
      const path = request.url ?? '/';
      target.requests.set(path, (target.requests.get(path) ?? 0) + 1);
      target.headers = request.headers;
      request.resume();
      if (target.hangs) target.#waiting.add(response);
      else void target.#respond(response);
    });
    return target;
  }

  /** Requests so far, of all paths. */
  get requestCount(): number {
    return [...this.requests.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Responds to all requests that wait. */
  release(): void {
    for (const response of this.#waiting) void this.#respond(response);
    this.#waiting.clear();
  }

  url(path = '/'): string {
    return this.#server.url(path);
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  async #respond(response: ServerResponse): Promise<void> {
    if (this.delayMs > 0) await delay(this.delayMs);
    response.writeHead(this.status, { 'Content-Type': 'text/plain' }).end(this.body);
  }
}
