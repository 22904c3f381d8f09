import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { migrate } from '@tocsin/db/database/migrate';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import type { DbContext } from '@tocsin/db/database/open';
import { ensureAccount } from '@tocsin/db/users/users';
import { type ServiceName, ServiceProcess } from '@tocsin/lab/service-process';
import { findFreePort } from '@tocsin/embedded/ports';
import { startPostgres } from '@tocsin/embedded/postgres';
import { openFolder, serverFolder } from '@tocsin/embedded/program/teardown';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { startRedis } from '@tocsin/embedded/redis';
import { migrateQueue } from '@tocsin/queue/migrate';
import { Redis } from 'ioredis';
import { type HelperName, HelperProcess } from './helper-process.ts';

export interface LabOptions {
  readonly queue: 'redis' | 'postgres';
  /** The service whose processes record CPU profiles; null for none. */
  readonly profile: ServiceName | null;
  /** For the Node of each service. */
  readonly nodeOptions?: readonly string[];
}

/** A started service. */
export interface RunningService {
  readonly pid: number;
  /** Where it answers `/metrics`. */
  readonly healthPort: number;
  /** What it writes goes here, after what earlier ones of its name wrote. */
  readonly logFile: string;
  /** Ends it cleanly, as a deployment would. @returns its exit code, null where a signal killed it */
  stop(): Promise<number | null>;
}

/** The real stores on this machine, with durable settings, and services as processes of their own, as in production. */
export class Lab {
  readonly folder: string;
  readonly context: DbContext & { readonly accountId: string };
  readonly database: OpenDatabase;
  readonly databaseUrl: string;
  /** Null where the queue is on Postgres. */
  readonly redis: Redis | null;
  readonly apiKey: string;
  readonly baseUrl: string;
  /** What runs here by name, with the id of its first process. */
  readonly programs: Map<string, number>;
  readonly #env: NodeJS.ProcessEnv;
  readonly #options: LabOptions;
  readonly #teardown: Teardown;

  private constructor(
    parts: Pick<
      Lab,
      'folder' | 'context' | 'database' | 'databaseUrl' | 'redis' | 'apiKey' | 'baseUrl' | 'programs'
    >,
    env: NodeJS.ProcessEnv,
    options: LabOptions,
    teardown: Teardown,
  ) {
    this.folder = parts.folder;
    this.context = parts.context;
    this.database = parts.database;
    this.databaseUrl = parts.databaseUrl;
    this.redis = parts.redis;
    this.apiKey = parts.apiKey;
    this.baseUrl = parts.baseUrl;
    this.programs = parts.programs;
    this.#env = env;
    this.#options = options;
    this.#teardown = teardown;
  }

  static async open(options: LabOptions, teardown: Teardown): Promise<Lab> {
    const folder = await openFolder('bench', teardown);
    const programs = new Map<string, number>();
    const postgres = await teardown.start(
      startPostgres({ dataDir: await serverFolder(folder, 'postgres', teardown) }),
      (server) => server.stop(),
    );
    programs.set('postgres', postgres.pid);
    await migrate(postgres.url);
    const redisUrl = options.queue === 'redis' ? await openRedis(folder, programs, teardown) : null;
    const queueUrl = redisUrl ?? postgres.url;
    await migrateQueue(queueUrl);
    const redis = redisUrl === null ? null : new Redis(redisUrl);
    teardown.onStop(async () => redis?.disconnect());
    const database = openDatabase({
      url: postgres.url,
      poolSize: 4,
      applicationName: 'bench',
      onIdleError: () => undefined,
    });
    teardown.onStop(() => database.close());
    const secretsKey = randomBytes(32);
    const { id: accountId } = await ensureAccount(database.db);
    const { key: apiKey } = await createApiKey(database.db, { accountId, name: 'bench' });
    const context = { db: database.db, secrets: new SecretBox([secretsKey]), accountId };
    const port = await findFreePort();
    const env = {
      NODE_ENV: 'production',
      DATABASE_URL: postgres.url,
      QUEUE_URL: queueUrl,
      SECRETS_KEY: secretsKey.toString('base64'),
      PORT: String(port),
      HEALTH_PORT: '0',
      LOG_LEVEL: 'warn',
      LOG_FORMAT: 'json',
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      API_RATE_LIMIT_PER_MINUTE: '0',
    };
    const baseUrl = `http://127.0.0.1:${port}`;
    const parts = { folder, context, database, databaseUrl: postgres.url, redis, apiKey, baseUrl, programs };
    return new Lab(parts, env, options, teardown);
  }

  /** Where the profiled processes leave their profiles when they end. */
  get profileFolder(): string {
    return join(this.folder, 'profiles');
  }

  /** Writes a file for the services to read. @returns its path */
  async writeFile(name: string, text: string): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, text);
    return path;
  }

  /** @param name in `programs`; by default the service's */
  async startService(
    service: ServiceName,
    env: Readonly<Record<string, string>> = {},
    name: string = service,
  ): Promise<RunningService> {
    const profiled = this.#options.profile === service;
    const log = join(this.folder, `${name}.log`);
    const profiling = profiled ? ['--cpu-prof', `--cpu-prof-dir=${this.profileFolder}`] : [];
    const nodeOptions = [...(this.#options.nodeOptions ?? []), ...profiling];
    const one = new ServiceProcess(service, { ...this.#env, ...env }, log, nodeOptions);
    const ready = await this.#teardown
      .start(one.start(), () => one.signal('SIGKILL'))
      .catch(async (error) => {
        // It goes with the folder.
        process.stderr.write(await readFile(log, 'utf8').catch(() => ''));
        throw error;
      });
    this.programs.set(name, one.pid);
    return {
      pid: one.pid,
      healthPort: Number(ready['healthPort'] ?? ready['port'] ?? 0),
      logFile: log,
      stop: async () => {
        const code = await one.signal('SIGTERM');
        this.programs.delete(name);
        return code;
      },
    };
  }

  async startHelper<Message extends object>(
    program: HelperName,
    name: string = program,
  ): Promise<HelperProcess<Message>> {
    const helper = await this.#teardown.start(HelperProcess.start<Message>(program), (one) => one.stop());
    this.programs.set(name, helper.pid);
    return helper;
  }
}

async function openRedis(folder: string, programs: Map<string, number>, teardown: Teardown): Promise<string> {
  const dataDir = await serverFolder(folder, 'redis', teardown);
  const server = await teardown.start(startRedis({ dataDir, appendOnly: true }), (one) => one.stop());
  programs.set('redis', server.pid);
  return server.url;
}
