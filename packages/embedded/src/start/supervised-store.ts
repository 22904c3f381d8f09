import { setTimeout as sleep } from 'node:timers/promises';
import type { StartOptions } from '../readiness.ts';
import { Restarts, type RestartRule } from './restarts.ts';

/** Pauses are shorter than for services, because nothing is checked in the meantime. */
const RULE: RestartRule = { firstPauseMs: 500, maxPauseMs: 5_000, stableAfterMs: 5_000 };
/** By then, restarts have taken half a minute, so the cause is permanent, such as a full disk. */
const MAX_FAILURES = 10;

/** A running server, such as the result of `startPostgres`. */
export interface StoreServer {
  readonly url: string;
  readonly port: number;
  /** Resolves to a predicate, such as `exited with code 1`, when the process ends. */
  readonly ended: Promise<string>;
  readonly stop: () => Promise<void>;
}

export interface SupervisedStoreOptions<Server extends StoreServer> {
  /** Display name, such as `PostgreSQL`. */
  readonly name: string;
  /** Starts the server on the given port or any port. */
  readonly start: (how: StartOptions & { readonly port?: number | undefined }) => Promise<Server>;
  /** Cancels the first start. */
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  /** Called once when restarts are abandoned. */
  readonly onFailure: (message: string) => void;
  readonly rule?: RestartRule;
}

/** Restarts an embedded server that ends unexpectedly, with the same port, data and credentials, until `stop`. */
export class SupervisedStore<Server extends StoreServer> {
  /** Server of the first start, whose URL the services use. */
  readonly first: Server;
  readonly #options: SupervisedStoreOptions<Server>;
  readonly #restarts: Restarts;
  readonly #stopping = new AbortController();
  #running: Promise<Server>;

  private constructor(first: Server, options: SupervisedStoreOptions<Server>) {
    this.first = first;
    this.#options = options;
    this.#restarts = new Restarts(options.rule ?? RULE);
    this.#running = Promise.resolve(first);
    void this.#supervise();
  }

  /** @throws the error of the first start */
  static async start<Server extends StoreServer>(
    options: SupervisedStoreOptions<Server>,
  ): Promise<SupervisedStore<Server>> {
    return new SupervisedStore(await startServer(options, options.signal), options);
  }

  /** Also cancels a restart, even if the server is recovering its data. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const server = await this.#running.catch(() => null);
    await server?.stop();
  }

  async #supervise(): Promise<void> {
    const { name, say, onFailure } = this.#options;
    const { signal } = this.#stopping;
    for (;;) {
      const { failure, ranMs } = await this.#nextFailure();
      if (signal.aborted) return;
      const pauseMs = this.#restarts.next(ranMs);
      if (this.#restarts.failures > MAX_FAILURES) {
        return onFailure(
          `${name} failed ${MAX_FAILURES} times in a row after its start. Last failure: ${failure}`,
        );
      }
      say(`${failure}. Restarting it in ${pauseMs / 1000} s`);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      this.#running = this.#restart();
    }
  }

  /** Waits until the server ends or fails to start. */
  async #nextFailure(): Promise<{ failure: string; ranMs: number }> {
    let server: Server;
    try {
      server = await this.#running;
    } catch (error) {
      return { failure: error instanceof Error ? error.message : String(error), ranMs: 0 };
    }
    const startedAt = performance.now();
    if (server !== this.first && !this.#stopping.signal.aborted)
      this.#options.say(`${this.#options.name} is running again`);
    const ending = await server.ended;
    return { failure: `${this.#options.name} ${ending}`, ranMs: performance.now() - startedAt };
  }

  async #restart(): Promise<Server> {
    const { name } = this.#options;
    const server = await startServer(this.#options, this.#stopping.signal, this.first.port);
    if (server.url === this.first.url) return server;
    // The services could not authenticate.
    await server.stop();
    throw new Error(`${name} has lost its password, because its data folder was removed or replaced`);
  }
}

function startServer<Server extends StoreServer>(
  { name, start, say }: SupervisedStoreOptions<Server>,
  signal: AbortSignal,
  port?: number,
): Promise<Server> {
  const onLoading = (): void => say(`${name} is loading its data, which may take minutes`);
  return start({ port, signal, onLoading });
}
