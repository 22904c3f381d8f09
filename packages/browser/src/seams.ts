import { setTimeout as wait } from 'node:timers/promises';
import type { APIResponse, Page, Route } from 'playwright-core';

/** Additional milliseconds of a request and its response. */
export interface Delays {
  readonly request: number;
  /** Null for a stream, which never ends. */
  readonly response: number | null;
}

/** Requests of a page to one path. A test can hold them on their way to the server or back. */
export class Seam {
  readonly #apiPort: number;
  #delays: (() => Delays) | null = null;
  #holds: 'requests' | 'responses' | null = null;
  readonly #held: (() => Promise<void>)[] = [];

  private constructor(apiPort: number) {
    this.#apiPort = apiPort;
  }

  /** @param path may contain `*` */
  static async open(page: Page, apiPort: number, path: string): Promise<Seam> {
    const seam = new Seam(apiPort);
    await page.route(`**${path}`, (route) => seam.#handle(route));
    return seam;
  }

  /** The number of held requests and responses. */
  get held(): number {
    return this.#held.length;
  }

  /** Holds every request from now on. */
  holdRequests(): void {
    this.#holds = 'requests';
  }

  /** Holds every response from now on. Does not support streams, which never end. */
  holdResponses(): void {
    this.#holds = 'responses';
  }

  /** Delays each request from now on. */
  delay(delays: () => Delays): void {
    this.#delays = delays;
  }

  /** Lets everything pass, in order. */
  async release(): Promise<void> {
    this.#holds = null;
    for (const pass of this.#held.splice(0)) await pass();
  }

  async #handle(route: Route): Promise<void> {
    if (this.#delays !== null) return this.#pass(route, this.#delays());
    if (this.#holds === null) return route.continue();
    if (this.#holds === 'requests') {
      this.#held.push(() => route.continue());
      return undefined;
    }
    const response = await this.#fetch(route);
    this.#held.push(() => route.fulfill({ response }));
    return undefined;
  }

  /** The page may be closed meanwhile. */
  async #pass(route: Route, { request, response }: Delays): Promise<void> {
    try {
      await wait(request);
      if (response === null) return await route.continue();
      const fetched = await this.#fetch(route);
      await wait(response);
      return await route.fulfill({ response: fetched });
    } catch {
      return route.abort().catch(() => undefined);
    }
  }

  async #fetch(route: Route): Promise<APIResponse> {
    const { pathname, search } = new URL(route.request().url());
    // Only the browser knows the name of the dashboard's host.
    const url = `http://127.0.0.1:${this.#apiPort}${pathname}${search}`;
    return route.fetch({ url, headers: await route.request().allHeaders() });
  }
}
