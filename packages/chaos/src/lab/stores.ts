import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type PostgresServer, startPostgres } from '@tocsin/embedded/postgres';
import { clusterFolder } from '@tocsin/embedded/postgres-cluster';
import { isRunning } from '@tocsin/embedded/processes';
import { type RedisServer, startRedis } from '@tocsin/embedded/redis';
import { Redis } from 'ioredis';
import { Client, type ClientConfig, Pool } from 'pg';

/** Few, so that they can be used up; the services of a campaign take about half of them. Black holes leave some behind. */
const MOST_CONNECTIONS = 80;
const GONE_WITHIN_MS = 20_000;

/** The Postgres and the Redis of a campaign, as durable as in production, to be broken and started again. */
export class Stores {
  readonly #folder: string;
  #postgres: PostgresServer;
  #redis: RedisServer;
  readonly #session: Pool;

  private constructor(folder: string, postgres: PostgresServer, redis: RedisServer) {
    this.#folder = folder;
    this.#postgres = postgres;
    this.#redis = redis;
    // Kept, since there may be no other one to be had; one that Postgres has ended is replaced.
    this.#session = new Pool({ ...sessionOptions(postgres.url, 'chaos'), max: 1, idleTimeoutMillis: 0 });
    this.#session.on('error', () => undefined);
    this.#session.on('connect', (client) => client.on('error', () => undefined));
  }

  /** @param folder of which `postgres` and `redis` are ready for the servers */
  static async start(folder: string): Promise<Stores> {
    const postgres = await runPostgres(folder);
    return new Stores(
      folder,
      postgres,
      await runRedis(folder).catch(async (error) => {
        await postgres.stop();
        throw error;
      }),
    );
  }

  get databaseUrl(): string {
    return this.#postgres.url;
  }

  get queueUrl(): string {
    return this.#redis.url;
  }

  /** A session of our own, to be ended by whoever asked for it. */
  async connect(name = 'chaos'): Promise<Client> {
    const client = new Client(sessionOptions(this.databaseUrl, name));
    // Postgres is taken away now and then: whatever is asked next fails.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** Asks in the one session that we keep, one question after the other; fails while Postgres is away. */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#session.query<Row>(text, [...values])).rows;
  }

  async commandRedis<Answer>(work: (redis: Redis) => Promise<Answer>): Promise<Answer> {
    const redis = new Redis(this.queueUrl, { maxRetriesPerRequest: 1, lazyConnect: true });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }

  /** Ends Postgres, cleanly or as a crash of the server does; its data stays. */
  async endPostgres(how: 'clean' | 'crash'): Promise<void> {
    if (how === 'clean') return this.#postgres.stop();
    await endAtOnce(this.#postgres.pid);
  }

  async startPostgres(): Promise<void> {
    this.#postgres = await runPostgres(this.#folder, this.#postgres.port);
  }

  /** As a read-only standby of a primary that is gone. */
  async startPostgresAsStandby(): Promise<void> {
    await writeFile(join(clusterFolder(this.#postgres.folder), 'standby.signal'), '');
    await this.startPostgres();
  }

  /** Makes the standby the primary. @throws Error where it does not become one in time */
  async promotePostgres(): Promise<void> {
    const [row] = await this.query<{ promoted: boolean }>('select pg_promote() as promoted');
    if (row?.promoted !== true) throw new Error('the standby was not promoted');
  }

  async killRedis(): Promise<void> {
    await endAtOnce(this.#redis.pid);
  }

  /** With what its append-only file has. */
  async startRedis(): Promise<void> {
    this.#redis = await runRedis(this.#folder, this.#redis.port);
  }

  /** Freezes Redis, or thaws it. */
  signalRedis(signal: 'SIGSTOP' | 'SIGCONT'): void {
    process.kill(this.#redis.pid, signal);
  }

  async stop(): Promise<void> {
    await this.#session.end();
    if (isRunning(this.#redis.pid)) this.signalRedis('SIGCONT');
    await Promise.all([this.#postgres.stop(), this.#redis.stop()]);
  }
}

function sessionOptions(connectionString: string, name: string): ClientConfig {
  return { connectionString, application_name: name, connectionTimeoutMillis: 5_000 };
}

function runPostgres(folder: string, port?: number): Promise<PostgresServer> {
  const dataDir = join(folder, 'postgres');
  return startPostgres({ dataDir, maxConnections: MOST_CONNECTIONS, ...(port !== undefined && { port }) });
}

function runRedis(folder: string, port?: number): Promise<RedisServer> {
  const dataDir = join(folder, 'redis');
  return startRedis({ dataDir, appendOnly: true, ...(port !== undefined && { port }) });
}

async function endAtOnce(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  const deadline = Date.now() + GONE_WITHIN_MS;
  while (isRunning(pid)) {
    if (Date.now() > deadline) throw new Error(`process ${pid} does not end`);
    await wait(10);
  }
}
