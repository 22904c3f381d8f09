import type { Page, Route } from 'playwright-core';

/** Requests of a page to one path, which a test can hold on their way to the server or back. */
export class Seam {
  readonly #apiPort: number;
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

  /** How many are held. */
  get held(): number {
    return this.#held.length;
  }

  /** From now on no request reaches the server. */
  holdRequests(): void {
    this.#holds = 'requests';
  }

  /** From now on the server responds, but the page does not receive it. Not for streams, which never end. */
  holdResponses(): void {
    this.#holds = 'responses';
  }

  /** Lets everything pass, in order. */
  async release(): Promise<void> {
    this.#holds = null;
    for (const pass of this.#held.splice(0)) await pass();
  }

  async #handle(route: Route): Promise<void> {
    if (this.#holds === null) return route.continue();
    if (this.#holds === 'requests') {
      this.#held.push(() => route.continue());
      return undefined;
    }
    const { pathname, search } = new URL(route.request().url());
    // Only the browser knows the name of the dashboard's host.
    const url = `http://127.0.0.1:${this.#apiPort}${pathname}${search}`;
    const response = await route.fetch({ url, headers: await route.request().allHeaders() });
    this.#held.push(() => route.fulfill({ response }));
    return undefined;
  }
}
