import { once } from 'node:events';
import { type JobKind, JOBS } from '@tocsin/contracts/jobs';
import { checkSession } from '@tocsin/runtime/postgres/connect';
import { openPostgresPool } from '@tocsin/runtime/postgres/pool';
import { type Processor, Queue, type QueueOptions, Worker, type WorkerOptions } from 'bullmq';
import { Cluster } from 'ioredis';
import type { Pool } from 'pg';
import { withDeadline } from './deadline.ts';
import { type OverlapGuard, PostgresOverlapGuard, RedisOverlapGuard } from './overlap-guard.ts';
import { StoreConnection } from './postgres-store.ts';
import { connectRedis, type RedisClient } from './redis-store.ts';
import { parseStoreUrl } from './store-url.ts';

/** Prefix of every key in Redis. */
export const KEY_PREFIX = 'tocsin';

/**
 * The queue of a kind of job, as `checks.eu-west-1` or `deliveries`. In the store its name stands in braces: a hash tag that
 * keeps a queue's keys on one node of a Redis Cluster (design §7).
 */
export function queueName(kind: JobKind, region: string | null): string {
  const { queue, perRegion } = JOBS[kind];
  if (!perRegion) return queue;
  if (region === null) throw new TypeError(`queue ${queue} needs a region`);
  return `${queue}.${region}`;
}

/** The name under which BullMQ keeps a queue. */
export function storedName(kind: JobKind, region: string | null): string {
  return `{${queueName(kind, region)}}`;
}

/** Typed as BullMQ's default; the Postgres-backed ones have the same methods. */
export type StoredQueue = Queue<object, unknown>;
export type StoredWorker = Worker<object, void>;
/** Worker settings that do not depend on the store. */
type StoreWorkerOptions = Omit<WorkerOptions, 'connection' | 'prefix'>;

/** One store of queues, Redis or Postgres, behind the same few words (design §2 `QUEUE_URL`). */
export interface QueueStore {
  readonly kind: 'redis' | 'postgres';
  readonly overlapGuard: OverlapGuard;
  /** @param name as the store has it, from `storedName` */
  openQueue(name: string): StoredQueue;
  openWorker(name: string, processor: Processor<object, void>, options: StoreWorkerOptions): StoredWorker;
  /** How many workers take jobs of this queue now. */
  countWorkers(queue: StoredQueue): Promise<number>;
  /** The store's clock, epoch milliseconds. */
  readClock(): Promise<number>;
  /** Throws where the store does not answer, or, Postgres, only reads. */
  ping(): Promise<void>;
  /** Closes the connections; queues and workers are closed by who opened them. */
  close(): Promise<void>;
}

/** How long a ping waits for a connection that is being made. */
const CONNECT_DEADLINE_MS = 2_000;

const CLOSE_WITHIN_MS = 2_000;
/** Longer than any statement of a queue takes; idle connections are closed before, and those that wait send heartbeats. */
const SILENT_CONNECTION_MS = 20_000;

/** Settings of every queue: nobody reads BullMQ's event stream, so it is kept short. */
const QUEUE_OPTIONS = { streams: { events: { maxLen: 100 } } } as const;

/**
 * Opens a store; connections are made when first needed.
 * @param onError errors of connections, which mend themselves
 * @param setting the variable that the address is from, for messages
 * @param connectWithinMs how long to wait for a connection that is being made
 * @param silentMs how long a connection to Postgres may be silent before it is replaced
 * @throws SettingsError where the address is malformed
 */
export function openQueueStore(
  url: string,
  onError: (error: Error) => void,
  setting?: string,
  connectWithinMs: number = CONNECT_DEADLINE_MS,
  silentMs: number = SILENT_CONNECTION_MS,
): QueueStore {
  const address = parseStoreUrl(url, setting);
  if (address.kind === 'postgres') return new PostgresQueueStore(address.url, onError, silentMs);
  const connect = (role: 'producer' | 'worker'): RedisClient => {
    const client = connectRedis(address, role);
    client.on('error', onError);
    return client;
  };
  return new RedisQueueStore(connect, onError, connectWithinMs);
}

class RedisQueueStore implements QueueStore {
  readonly kind = 'redis';
  readonly #connect: (role: 'producer' | 'worker') => RedisClient;
  readonly #onError: (error: Error) => void;
  readonly #connectWithinMs: number;
  #producer: RedisClient | undefined;
  #worker: RedisClient | undefined;
  #guard: OverlapGuard | undefined;

  constructor(
    connect: (role: 'producer' | 'worker') => RedisClient,
    onError: (error: Error) => void,
    connectWithinMs: number,
  ) {
    this.#connect = connect;
    this.#onError = onError;
    this.#connectWithinMs = connectWithinMs;
  }

  get #producerClient(): RedisClient {
    return (this.#producer ??= this.#connect('producer'));
  }

  get overlapGuard(): OverlapGuard {
    return (this.#guard ??= new RedisOverlapGuard(this.#producerClient));
  }

  openQueue(name: string): StoredQueue {
    const options: QueueOptions = { connection: this.#producerClient, prefix: KEY_PREFIX, ...QUEUE_OPTIONS };
    const queue: StoredQueue = new Queue(name, options);
    queue.on('error', this.#onError);
    return queue;
  }

  openWorker(name: string, processor: Processor<object, void>, options: StoreWorkerOptions): StoredWorker {
    this.#worker ??= this.#connect('worker');
    const worker: StoredWorker = new Worker(name, processor, {
      ...options,
      connection: this.#worker,
      prefix: KEY_PREFIX,
    });
    worker.on('error', this.#onError);
    return worker;
  }

  async countWorkers(queue: StoredQueue): Promise<number> {
    const client = this.#producerClient;
    const database = String(client instanceof Cluster ? 0 : (client.options.db ?? 0));
    // Redis lists the clients of all its databases: those of another system, in a database of its own, are none of ours.
    return (await queue.getWorkers()).filter((worker) => worker['db'] === database).length;
  }

  async readClock(): Promise<number> {
    const client = await this.#connectedProducer();
    const [seconds = 0, microseconds = 0] = (await client.time()).map(Number);
    return seconds * 1_000 + microseconds / 1_000;
  }

  async ping(): Promise<void> {
    const client = await this.#connectedProducer();
    await client.ping();
  }

  /** A producer's commands fail until it is connected: the first one after a start is no outage. */
  async #connectedProducer(): Promise<RedisClient> {
    const client = this.#producerClient;
    if (client.status !== 'ready') {
      await once(client, 'ready', { signal: AbortSignal.timeout(this.#connectWithinMs) });
    }
    return client;
  }

  async close(): Promise<void> {
    this.#producer?.disconnect();
    this.#worker?.disconnect();
    await Promise.resolve();
  }
}

class PostgresQueueStore implements QueueStore {
  readonly kind = 'postgres';
  readonly overlapGuard: OverlapGuard;
  readonly #url: string;
  readonly #pool: Pool;
  readonly #pools: Pool[] = [];
  readonly #onError: (error: Error) => void;
  readonly #silentMs: number;

  constructor(url: string, onError: (error: Error) => void, silentMs: number) {
    this.#url = url;
    this.#onError = onError;
    this.#silentMs = silentMs;
    this.#pool = this.#openPool();
    this.overlapGuard = new PostgresOverlapGuard(this.#pool);
  }

  openQueue(name: string): StoredQueue {
    const connection = new StoreConnection(this.#pool, this.#onError, 'producer');
    const options = { connection: connection.pool, ...QUEUE_OPTIONS };
    const queue = new Queue(name, options, connection.backendFactory);
    queue.on('error', this.#onError);
    return queue as unknown as StoredQueue;
  }

  openWorker(name: string, processor: Processor<object, void>, options: StoreWorkerOptions): StoredWorker {
    const connection = new StoreConnection(this.#openPool(), this.#onError, 'worker');
    const workerOptions = { ...options, connection: connection.pool };
    const worker = new Worker(name, processor, workerOptions, connection.backendFactory);
    worker.on('error', this.#onError);
    worker.on('closing', () => connection.stopWaiting());
    return worker as unknown as StoredWorker;
  }

  countWorkers(queue: StoredQueue): Promise<number> {
    return queue.getWorkersCount();
  }

  async readClock(): Promise<number> {
    const { rows } = await this.#pool.query<{ now: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
    );
    return rows[0]?.now ?? 0;
  }

  async ping(): Promise<void> {
    await checkSession(this.#pool, 'read-write');
  }

  async close(): Promise<void> {
    const ended = Promise.all(this.#pools.map((pool) => pool.end()));
    // A connection that is in use and does not answer ends with the process.
    await withDeadline(ended, CLOSE_WITHIN_MS, 'closing the connections').catch(() => undefined);
  }

  #openPool(): Pool {
    const { pool } = openPostgresPool(this.#url, {
      max: 5,
      application_name: 'tocsin queue',
      options: '-c search_path=bullmq',
      silentMs: this.#silentMs,
      // One connection of a worker waits for notifications: without heartbeats it would be silent, and nobody would know it dead.
      heartbeatMs: this.#silentMs / 4,
    });
    pool.on('error', this.#onError);
    this.#pools.push(pool);
    return pool;
  }
}
