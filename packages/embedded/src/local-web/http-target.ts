import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { LocalServer, type LocalServerOptions } from './local-server.ts';

/** A local web server for monitors. Its fields control the responses. */
export class HttpTarget {
  status = 200;
  body = 'ok';
  /** Delays responses until `release`. */
  hangs = false;
  /** Milliseconds from a request to its response. */
  delayMs = 0;
  readonly requests = new Map<string, number>();
  headers: IncomingHttpHeaders = {};
  readonly #waiting = new Set<ServerResponse>();
  #server!: LocalServer;

  static async start({
    hangs = false,
    ...options
  }: { readonly hangs?: boolean } & Pick<LocalServerOptions, 'addresses'> = {}): Promise<HttpTarget> {
    const target = new HttpTarget();
    target.hangs = hangs;
    target.#server = await LocalServer.start((request, response) => {
      const path = request.url ?? '/';
      target.requests.set(path, (target.requests.get(path) ?? 0) + 1);
      target.headers = request.headers;
      request.resume();
      if (target.hangs) target.#waiting.add(response);
      else void target.#respond(response);
    }, options);
    return target;
  }

  get requestCount(): number {
    return [...this.requests.values()].reduce((sum, count) => sum + count, 0);
  }

  release(): void {
    for (const response of this.#waiting) void this.#respond(response);
    this.#waiting.clear();
  }

  url(path = '/', host?: string): string {
    return this.#server.url(path, host);
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  async #respond(response: ServerResponse): Promise<void> {
    if (this.delayMs > 0) await delay(this.delayMs);
    response.writeHead(this.status, { 'Content-Type': 'text/plain' }).end(this.body);
  }
}
