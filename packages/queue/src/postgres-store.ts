import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  assertSchemaCompatibility,
  type BackendFactory,
  ConnectionClosedError,
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
} from 'bullmq';
import type { Pool } from 'pg';

const RETRY_DELAY_MS = 1_000;

/**
 * The connection of one worker or queue. BullMQ checks the schema once and keeps the result: after a failure, a queue fails
 * until a restart, and a worker retries without a pause, so that nothing else runs in the process. This class repeats the
 * check until it succeeds.
 */
export class StoreConnection extends PostgresConnection {
  /** Resolves once the check has succeeded. Rejects with ConnectionClosedError if the connection is closed before. */
  readonly ready: Promise<void>;
  readonly #role: 'producer' | 'worker';
  readonly #stopped = new AbortController();
  #attempt: Promise<number> | undefined;

  /**
   * @param onError called with the error of each failed check
   * @param role commands of a worker wait until the store is ready; those of a producer fail if the current check fails, so
   *   that they do not pile up
   */
  constructor(pool: Pool, onError: (error: Error) => void, role: 'producer' | 'worker') {
    // BullMQ accepts a pool, but declares a narrower type than pg's.
    super(pool as unknown as PostgresConnectionOptions);
    this.#role = role;
    const stopped = once(this.#stopped.signal, 'abort').then(() =>
      Promise.reject(new ConnectionClosedError()),
    );
    this.ready = Promise.race([this.#connect(pool, onError), stopped]);
    this.ready.catch(() => undefined);
  }

  /** Makes the backend of the worker or queue. */
  get backendFactory(): BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> {
    return (name, options) =>
      this.#role === 'producer'
        ? new ProducerBackend(this, name, options)
        : // BullMQ counts workers by the name of the connection that waits for jobs.
          new PostgresQueueBackend(this, name, options, true, name);
  }

  /** BullMQ calls this before each command. */
  override async waitUntilReady(): Promise<void> {
    await (this.#role === 'worker' ? this.ready : this.#attempt);
  }

  /** Stops waiting for a store that is not ready. A connection that is ready stays usable. */
  stopWaiting(): void {
    this.#stopped.abort();
  }

  override close(): Promise<void> {
    this.stopWaiting();
    return super.close();
  }

  async #connect(pool: Pool, onError: (error: Error) => void): Promise<void> {
    while (!this.#stopped.signal.aborted && !pool.ending) {
      this.#attempt = assertSchemaCompatibility(this.pool, this.schema);
      try {
        await this.#attempt;
        return;
      } catch (error) {
        if (!this.#stopped.signal.aborted) onError(error as Error);
      }
      await delay(RETRY_DELAY_MS, undefined, { ref: false });
    }
    throw new ConnectionClosedError();
  }
}

class ProducerBackend extends PostgresQueueBackend {
  /** A new queue waits for this before it stores its settings, which it does only once. */
  override waitUntilReady(): Promise<void> {
    return (this.connection as StoreConnection).ready;
  }
}
