import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startPostgres, type PostgresServer } from '@tocsin/embedded/postgres';
import { clusterFolder } from '@tocsin/embedded/postgres-cluster';
import { isRunning } from '@tocsin/embedded/processes';
import { openFolder, serverFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { startRedis, type RedisServer } from '@tocsin/embedded/redis';
import { until } from '@tocsin/embedded/testing/until';
import { migrateQueue } from '@tocsin/queue/migrate';
import { migrate } from '@tocsin/db/database/migrate';
import { Redis } from 'ioredis';
import { Client, Pool, type ClientConfig } from 'pg';

export interface StoresOptions {
  /** Names the folder and the sessions in Postgres. */
  readonly name: string;
  readonly queue?: 'redis' | 'postgres';
  readonly maxConnections?: number;
  /** Length of each partition of events. Defaults to a day. */
  readonly partitionMinutes?: number;
  readonly teardown: Teardown;
}

export type Queries = Pick<Stores, 'query'>;

/** A durable Postgres and Redis on this machine, which can be broken and restarted. */
export class Stores {
  /** Folder that other files of the system may use, too. The teardown removes it. */
  readonly folder: string;
  readonly #options: StoresOptions;
  #postgres: PostgresServer;
  #redis: RedisServer | null = null;
  readonly #session: Pool;

  private constructor(folder: string, options: StoresOptions, postgres: PostgresServer) {
    this.folder = folder;
    this.#options = options;
    this.#postgres = postgres;
    // The session stays open, because Postgres may have no free connection later. If Postgres ended it, it is replaced.
    this.#session = new Pool({ ...this.#config(options.name), max: 1, idleTimeoutMillis: 0 });
    this.#session.on('error', () => undefined);
    this.#session.on('connect', (client) => client.on('error', () => undefined));
  }

  /** Starts and migrates both in a new folder. */
  static async start(options: StoresOptions): Promise<Stores> {
    const { name, teardown, queue = 'redis', partitionMinutes } = options;
    const folder = await openFolder(name, teardown);
    for (const server of ['postgres', 'redis']) await serverFolder(folder, server, teardown);
    const starting = runPostgres(folder, options).then((server) => new Stores(folder, options, server));
    const stores = await teardown.start(starting, (one) => one.#stop());
    if (queue === 'redis') await stores.startRedis();
    await migrate(stores.databaseUrl, { ...(partitionMinutes !== undefined && { partitionMinutes }) });
    await migrateQueue(stores.queueUrl);
    return stores;
  }

  get databaseUrl(): string {
    return this.#postgres.url;
  }

  get queueUrl(): string {
    return this.#redis?.url ?? this.databaseUrl;
  }

  /** Processes of the servers by name. */
  get pids(): [name: string, pid: number][] {
    const all: [string, number][] = [['postgres', this.#postgres.pid]];
    return this.#redis === null ? all : [...all, ['redis', this.#redis.pid]];
  }

  /** Opens a session, which the caller ends. */
  async connect(name = this.#options.name): Promise<Client> {
    const client = new Client(this.#config(name));
    // If Postgres stops, the next query fails.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** Runs one query at a time in a session that stays open. @throws Error while Postgres is unavailable */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#session.query<Row>(text, [...values])).rows;
  }

  /** Runs work with its own Redis client. @throws Error while Redis is unavailable */
  async withRedis<Result>(work: (redis: Redis) => Promise<Result>): Promise<Result> {
    const redis = new Redis(this.queueUrl, { maxRetriesPerRequest: 1, lazyConnect: true });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }

  /** Ends Postgres cleanly, or as a crash does. */
  async endPostgres(how: 'clean' | 'crash'): Promise<void> {
    await (how === 'clean' ? this.#postgres.stop() : kill(this.#postgres.pid));
  }

  async startPostgres(): Promise<void> {
    this.#postgres = await runPostgres(this.folder, this.#options, this.#postgres.port);
  }

  /** Starts Postgres as a read-only standby without a primary. */
  async startPostgresAsStandby(): Promise<void> {
    await writeFile(join(clusterFolder(this.#postgres.folder), 'standby.signal'), '');
    await this.startPostgres();
  }

  /** Makes the standby the primary. @throws Error if that takes too long */
  async promotePostgres(): Promise<void> {
    const [row] = await this.query<{ promoted: boolean }>('select pg_promote() as promoted');
    if (row?.promoted !== true) throw new Error('the standby was not promoted');
  }

  async killRedis(): Promise<void> {
    await kill(this.#redisPid);
  }

  /** Starts Redis with the content of its append-only file. */
  async startRedis(): Promise<void> {
    const dataDir = join(this.folder, 'redis');
    const { port } = this.#redis ?? {};
    this.#redis = await startRedis({ dataDir, appendOnly: true, ...(port !== undefined && { port }) });
  }

  signalRedis(signal: 'SIGSTOP' | 'SIGCONT'): void {
    process.kill(this.#redisPid, signal);
  }

  get #redisPid(): number {
    if (this.#redis === null) throw new Error('the queue is not on Redis');
    return this.#redis.pid;
  }

  #config(name: string): ClientConfig {
    return { connectionString: this.databaseUrl, application_name: name, connectionTimeoutMillis: 5_000 };
  }

  async #stop(): Promise<void> {
    await this.#session.end();
    if (this.#redis && isRunning(this.#redis.pid)) this.signalRedis('SIGCONT');
    await Promise.all([this.#postgres.stop(), this.#redis?.stop()]);
  }
}

function runPostgres(
  folder: string,
  { maxConnections }: StoresOptions,
  port?: number,
): Promise<PostgresServer> {
  return startPostgres({
    dataDir: join(folder, 'postgres'),
    ...(maxConnections !== undefined && { maxConnections }),
    ...(port !== undefined && { port }),
  });
}

async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await until(`process ${pid} to end`, () => !isRunning(pid));
}
