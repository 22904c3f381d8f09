import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { errorCode } from '@tocsin/runtime/error-code';
import { Client } from 'pg';
import { EmbeddedError } from './embedded-error.ts';
import { NO_FOLLOW, replaceFile } from './files.ts';
import { choosePort } from './ports.ts';
import {
  endOrphan,
  ensureCluster,
  findPostgresBinaries,
  type PostgresBinaries,
  postgresEnv,
  STOP_STEPS,
  SUPERUSER,
} from './postgres-cluster.ts';
import { isAlive, stopProcess, whenEnded } from './processes.ts';
import { type Readiness, type StartOptions, waitUntilReady } from './readiness.ts';
import { keepSecret, prepareServerFolder, type ServerFolder } from './server-folder.ts';

const DATABASE = 'tocsin';
const PROBE_TIMEOUT_MS = 5000;
const INVALID_PASSWORD = '28P01';
/** Error code during recovery. */
const CANNOT_CONNECT_NOW = '57P03';
/** Skips the fast shutdown, because an interrupted recovery starts again in any case. */
const UNREADY_STOP_STEPS = STOP_STEPS.slice(1);
const ATTEMPTS = 5;
const MAX_LOG_BYTES = 10_000_000;

export interface PostgresOptions extends StartOptions {
  /** Kept between runs. A server that still runs in this folder is stopped. */
  readonly dataDir: string;
  /** Defaults to the port of the last start, or a free port if that is in use. */
  readonly port?: number | undefined;
  /** False is faster, but a crash of the machine may lose data. For tests. */
  readonly durable?: boolean;
  /** Defaults to 200. */
  readonly maxConnections?: number;
}

export interface PostgresServer {
  /** URL of Tocsin's database with superuser credentials. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Data folder. It is outside `dataDir` if root starts the server and the server's user cannot access `dataDir`. */
  readonly folder: string;
  /** Resolves to a predicate, such as `exited with code 1`, when the process ends. */
  readonly ended: Promise<string>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts PostgreSQL on 127.0.0.1 in its own process group, so that Ctrl-C does not reach it.
 * @throws EmbeddedError, or the reason of the signal
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const folder = await prepareServerFolder(options.dataDir);
  const binaries = await findPostgresBinaries(folder.owner);
  const password = await keepSecret(join(folder.path, 'password'));
  const { durable = true, maxConnections = 200, signal, onLoading } = options;
  const cluster = await ensureCluster(folder, binaries, { password, durable });
  await endOrphan(cluster);
  const log = join(folder.path, 'server.log');
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort('PostgreSQL', folder.path, options.port);
    const child = await spawnServer({ folder, binaries, cluster, port, durable, maxConnections, log });
    const url = (database: string): string =>
      `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
    const failure = await waitUntilReady(child, {
      probe: () => probe(url('postgres')),
      stopSteps: UNREADY_STOP_STEPS,
      signal,
      onLoading,
    });
    if (failure === null && child.pid !== undefined) {
      await replaceFile(join(folder.path, 'port'), `${port}\n`, { mode: 0o644 });
      await ensureDatabase(url('postgres'));
      return {
        url: url(DATABASE),
        port,
        pid: child.pid,
        folder: folder.path,
        ended: whenEnded(child),
        stop: stopper(child, binaries, cluster),
      };
    }
    const reason = await lastFailure(log, failure);
    // Another process may have taken the port, or backends of a killed server may still be ending.
    const temporary = /could not bind|address already in use|shared memory block|could not create any TCP/i;
    if (attempt === ATTEMPTS || !temporary.test(reason)) {
      throw new EmbeddedError(`PostgreSQL did not start: ${reason}. See ${log}.`);
    }
    await sleep(200 * attempt);
  }
}

interface SpawnOptions {
  readonly folder: ServerFolder;
  readonly binaries: PostgresBinaries;
  readonly cluster: string;
  readonly port: number;
  readonly durable: boolean;
  readonly maxConnections: number;
  readonly log: string;
}

async function spawnServer(options: SpawnOptions): Promise<ChildProcess> {
  const size = await stat(options.log).then(
    (file) => file.size,
    () => 0,
  );
  if (size > MAX_LOG_BYTES) await rm(options.log);
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const log = await open(options.log, O_APPEND | O_CREAT | O_WRONLY | NO_FOLLOW, 0o600);
  try {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: options.port,
      unix_socket_directories: '',
      max_connections: options.maxConnections,
      ...(options.durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    };
    const child = spawn(
      options.binaries.postgres,
      [
        '-D',
        options.cluster,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      {
        ...options.folder.owner,
        cwd: options.folder.path,
        env: postgresEnv(),
        detached: true,
        windowsHide: true,
        stdio: ['ignore', log.fd, log.fd],
      },
    );
    // `waitUntilReady` reports a failed spawn.
    child.on('error', () => {});
    return child;
  } finally {
    await log.close();
  }
}

async function probe(url: string): Promise<Readiness> {
  const timeouts = { connectionTimeoutMillis: PROBE_TIMEOUT_MS, query_timeout: PROBE_TIMEOUT_MS };
  const client = new Client({ connectionString: url, ...timeouts });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
    return 'ready';
  } catch (error) {
    if (errorCode(error) === CANNOT_CONNECT_NOW) return 'loading';
    return errorCode(error) === INVALID_PASSWORD ? 'refused' : 'silent';
  } finally {
    await client.end().catch(() => {});
  }
}

async function ensureDatabase(adminUrl: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/** Returns the last error in the log, or the fallback. */
async function lastFailure(log: string, fallback: string | null): Promise<string> {
  const lines = (await readFile(log, 'utf8').catch(() => '')).split('\n').slice(-30);
  const errors = lines.filter((line) => /FATAL:|could not|error while loading/.test(line));
  return (
    errors
      .at(-1)
      ?.replace(/^.*?FATAL:\s*/, '')
      .trim() ??
    fallback ??
    'unknown'
  );
}

function stopper(child: ChildProcess, binaries: PostgresBinaries, cluster: string): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    if (child.pid === undefined || !isAlive(child)) return;
    if (process.platform === 'win32') {
      await promisify(execFile)(binaries.pgCtl, ['stop', '-D', cluster, '-m', 'fast', '-w']);
    } else {
      await stopProcess(child.pid, STOP_STEPS);
    }
  };
  return () => (stopped ??= stop());
}
