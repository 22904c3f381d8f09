import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { checkSession } from '@tocsin/runtime/postgres/connect';
import { openPostgresPool } from '@tocsin/runtime/postgres/pool';
import { withDeadline } from '@tocsin/runtime/timeout';
import {
  assertSchemaCompatibility,
  ConnectionClosedError,
  PostgresConnection,
  PostgresQueueBackend,
  Queue,
  Worker,
  type BackendFactory,
  type PostgresConnectionOptions,
} from 'bullmq';
import type { Pool } from 'pg';
import { createOverlapGuard, type LockStore } from './overlap-guard.ts';
import { QUEUE_OPTIONS, type QueueStore, type StoredQueue, type StoredWorker } from './queue-store.ts';

const CLOSE_WITHIN_MS = 2_000;
const RETRY_DELAY_MS = 1_000;
/** Killed processes leave their locks behind, and the others delete expired ones. */
const SWEEP_EVERY_MS = 60_000;

/** @param silentMs a connection that is silent for longer is replaced. Must exceed the duration of any statement */
export function openPostgresStore(
  url: string,
  onError: (error: Error) => void,
  silentMs: number,
): QueueStore {
  const pools = new Set<Pool>();
  const openPool = (): Pool => {
    const { pool } = openPostgresPool(url, {
      max: 5,
      application_name: 'tocsin queue',
      options: '-c search_path=bullmq',
      silentMs,
      // One connection of a worker waits for notifications. Without heartbeats, a dead one would look quiet.
      heartbeatMs: silentMs / 4,
    });
    pool.setMaxListeners(0);
    pools.add(pool);
    return pool.on('error', onError);
  };
  const mainPool = openPool();
  return {
    overlapGuard: createOverlapGuard(postgresLocks(mainPool)),
    openQueue: (name) => {
      const connection = new StoreConnection(mainPool, onError, 'producer');
      const options = { connection: connection.pool, ...QUEUE_OPTIONS };
      const queue = new Queue(name, options, connection.backendFactory);
      return queue.on('error', onError) as unknown as StoredQueue;
    },
    openWorker: (name, processor, options) => {
      const pool = openPool();
      const connection = new StoreConnection(pool, onError, 'worker');
      const workerOptions = { ...options, connection: connection.pool };
      const worker = new Worker(name, processor, workerOptions, connection.backendFactory);
      worker.on('error', onError);
      worker.on('closing', () => connection.stopWaiting());
      // Gateways open and close workers whenever agents come and go.
      worker.on('closed', () => {
        if (pools.delete(pool)) void pool.end();
      });
      return worker as unknown as StoredWorker;
    },
    countWorkers: (queue) => queue.getWorkersCount(),
    listQueues: async () => {
      const { rows } = await mainPool.query<{ queue: string }>(
        'select queue from meta union select queue from scheduler union select queue from job',
      );
      return rows.map(({ queue }) => queue);
    },
    readClock: async () => {
      const { rows } = await mainPool.query<{ now: number }>(
        'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
      );
      return rows[0]?.now ?? 0;
    },
    ping: () => checkSession(mainPool, 'read-write'),
    close: async () => {
      const ended = Promise.all([...pools].map((pool) => pool.end()));
      pools.clear();
      await withDeadline(ended, CLOSE_WITHIN_MS, 'closing the connections').catch(() => undefined);
    },
  };
}

/** The connection of one worker or queue. BullMQ checks the schema once and gives up if that fails, so this class repeats the check. */
class StoreConnection extends PostgresConnection {
  /** Resolves once the check succeeds. Rejects with ConnectionClosedError if the connection is closed first. */
  readonly ready: Promise<void>;
  readonly #role: 'producer' | 'worker';
  readonly #stopped = new AbortController();
  #attempt: Promise<number> | undefined;

  /** @param role a worker's commands wait until the store is ready, and a producer's fail with the current check */
  constructor(pool: Pool, onError: (error: Error) => void, role: 'producer' | 'worker') {
    // BullMQ accepts a pool, but declares a narrower type than pg.
    super(pool as unknown as PostgresConnectionOptions);
    this.#role = role;
    const stopped = once(this.#stopped.signal, 'abort').then(() =>
      Promise.reject(new ConnectionClosedError()),
    );
    this.ready = Promise.race([this.#connect(pool, onError), stopped]);
    this.ready.catch(() => undefined);
  }

  get backendFactory(): BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> {
    return (name, options) =>
      this.#role === 'producer'
        ? new ProducerBackend(this, name, options)
        : // BullMQ counts workers by the name of the connection that waits for jobs.
          new PostgresQueueBackend(this, name, options, true, name);
  }

  override async waitUntilReady(): Promise<void> {
    await (this.#role === 'worker' ? this.ready : this.#attempt);
  }

  /** Stops waiting for the store. A connection that is ready stays usable. */
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
  /** BullMQ stores the settings of a new queue once, after this resolves. */
  override waitUntilReady(): Promise<void> {
    return (this.connection as StoreConnection).ready;
  }
}

function postgresLocks(pool: Pool): LockStore {
  let sweptAt = -Infinity;
  const sweep = (): void => {
    if (performance.now() - sweptAt < SWEEP_EVERY_MS) return;
    sweptAt = performance.now();
    pool.query('delete from tocsin_running_checks where until <= now()').catch(() => undefined);
  };
  return {
    acquire: async ({ region, monitorId, jobId, forMs }) => {
      sweep();
      const { rowCount } = await pool.query(
        `insert into tocsin_running_checks as r (region, monitor_id, job_id, until)
         values ($1, $2, $3, now() + make_interval(secs => $4::float8 / 1000))
         on conflict (region, monitor_id) do update set job_id = excluded.job_id, until = excluded.until
         where r.until <= now() or r.job_id = excluded.job_id`,
        [region, monitorId, jobId, forMs],
      );
      return rowCount === 1;
    },
    release: async ({ region, monitorId, jobId }) => {
      const statement =
        'delete from tocsin_running_checks where region = $1 and monitor_id = $2 and job_id = $3';
      await pool.query(statement, [region, monitorId, jobId]);
    },
  };
}
