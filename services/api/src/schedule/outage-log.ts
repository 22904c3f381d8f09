import type { Logger } from '@tocsin/runtime/logger';

/** Logs once when work begins to fail in a region, and once when it works again. */
export class OutageLog {
  readonly #logger: Logger;
  readonly #what: string;
  readonly #failing = new Set<string>();

  /** @param what completes "… fails in a region" */
  constructor(logger: Logger, what: string) {
    this.#logger = logger;
    this.#what = what;
  }

  failed(region: string, error: unknown): void {
    if (this.#failing.has(region)) return;
    this.#failing.add(region);
    this.#logger.warn(`${this.#what} fails in a region; retrying until it works`, { region, error });
  }

  /** Call when the region no longer matters. */
  forget(region: string): void {
    this.#failing.delete(region);
  }

  worked(region: string): void {
    if (this.#failing.delete(region)) this.#logger.info(`${this.#what} works again in a region`, { region });
  }
}
