import { type ChildProcess, spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { open, readFile, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { dirname, join } from 'node:path';
import { EmbeddedError } from './embedded-error.ts';
import { findExecutable } from './executables.ts';
import { replaceFile } from './files.ts';
import { choosePort, rememberedPort } from './ports.ts';
import { commandLine, isAlive, isRunning, type StopSteps, stopProcess, whenEnded } from './processes.ts';
import { type Readiness, type StartOptions, waitUntilReady } from './readiness.ts';
import { isReachable, keepSecret, prepareServerFolder, type ServerFolder } from './server-folder.ts';

const TIMEOUT_MS = 2000;

/** Probes a Redis on 127.0.0.1 with a password. */
export async function probeRedis(port: number, password: string): Promise<Readiness> {
  return new Promise((resolve) => {
    let reply = '';
    const socket = createConnection({ host: '127.0.0.1', port, timeout: TIMEOUT_MS });
    const finish = (readiness: Readiness): void => {
      socket.destroy();
      resolve(readiness);
    };
    socket.on('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (chunk) => {
      reply += chunk.toString('latin1');
      const [auth = '', ping] = reply.split('\r\n').slice(0, -1);
      if (auth.startsWith('-')) finish('refused');
      else if (ping !== undefined) finish(readinessOf(ping));
    });
    for (const end of ['timeout', 'error', 'close']) socket.on(end, () => finish('silent'));
  });
}

function readinessOf(ping: string): Readiness {
  if (ping === '+PONG') return 'ready';
  return ping.startsWith('-LOADING') ? 'loading' : 'silent';
}

/** A clean shutdown that writes all data to disk, then a kill. */
export const STOP_STEPS = [
  ['SIGTERM', 20_000],
  ['SIGKILL', 5000],
] as const satisfies StopSteps;
/** A server that is not ready has no data to write. */
const UNREADY_STOP_STEPS = [['SIGKILL', 5000]] as const satisfies StopSteps;

/** Stops a Redis that a killed program left running in this folder. */
export async function endRedisOrphan(folder: string): Promise<void> {
  const pid = Number.parseInt(await readFile(join(folder, 'pid'), 'utf8').catch(() => ''), 10);
  if (pid > 0 && isRunning(pid) && (await isOurs(pid, folder))) await stopProcess(pid, STOP_STEPS);
  await rm(join(folder, 'pid'), { force: true });
}

async function isOurs(pid: number, folder: string): Promise<boolean> {
  if (process.platform === 'linux') {
    try {
      return /(redis|valkey)/.test(commandLine(pid)) && readlinkSync(`/proc/${pid}/cwd`) === folder;
    } catch {
      return false;
    }
  }
  // Other systems do not show the working directory, but only this server knows the password.
  const port = await rememberedPort(folder);
  if (port === undefined) return false;
  const readiness = await probeRedis(port, await keepSecret(join(folder, 'password')));
  return readiness === 'ready' || readiness === 'loading';
}

const ATTEMPTS = 5;

export interface RedisOptions extends StartOptions {
  /** Kept between runs. A server that still runs in this folder is stopped. */
  readonly dataDir: string;
  /** Defaults to the port of the last start, or a free port if that is in use. */
  readonly port?: number | undefined;
  /** Writes changes to disk within a second. If false, no data is kept. */
  readonly appendOnly: boolean;
  /** Number of logical databases. Defaults to 16. */
  readonly databases?: number;
  /** Starts a Redis Cluster node without slots. */
  readonly cluster?: RedisNodeOptions;
}

export interface RedisNodeOptions {
  /** Port for connections from other nodes. */
  readonly busPort: number;
  /** Shared by all nodes. */
  readonly password: string;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves to a predicate, such as `exited with code 1`, when the process ends. */
  readonly ended: Promise<string>;
  readonly stop: () => Promise<void>;
}

/** Finds redis-server or valkey-server on the PATH. Returns null if there is none. */
export function findRedisServer(searchPath = process.env['PATH'] ?? ''): string | null {
  return findExecutable(['redis-server', 'valkey-server'], searchPath);
}

/**
 * Starts a Redis (or Valkey) on 127.0.0.1 with a password, in its own process group, so that Ctrl-C does not reach it.
 * @throws EmbeddedError, or the reason of the signal
 */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const binary = findRedisServer();
  if (binary === null) throw new EmbeddedError('There is no redis-server or valkey-server on the PATH');
  const folder = await prepareServerFolder(options.dataDir);
  await endRedisOrphan(folder.path);
  const { cluster, signal, onLoading } = options;
  const password = await keepSecret(join(folder.path, 'password'), cluster && (() => cluster.password));
  const owner = folder.owner && (await isReachable(dirname(binary), folder.owner)) ? folder.owner : undefined;
  const log = join(folder.path, 'server.log');
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort('Redis', folder.path, options.port);
    // The password is in a file, because all users can see command lines.
    const file = join(folder.path, 'redis.conf');
    await replaceFile(file, configuration(options, port, password), { mode: 0o600, owner });
    const child = await spawnServer({ ...folder, owner }, binary, log);
    const url = `redis://:${password}@127.0.0.1:${port}`;
    const failure = await waitUntilReady(child, {
      probe: () => probeRedis(port, password),
      stopSteps: UNREADY_STOP_STEPS,
      signal,
      onLoading,
    });
    if (failure === null && child.pid !== undefined) {
      const access = { mode: 0o644, owner } as const;
      await replaceFile(join(folder.path, 'port'), `${port}\n`, access);
      await replaceFile(join(folder.path, 'pid'), `${child.pid}\n`, access);
      const stop = stopper(child, join(folder.path, 'pid'));
      return { url, port, pid: child.pid, ended: whenEnded(child), stop };
    }
    const reason = await lastFailure(log);
    if (attempt === ATTEMPTS || !/already in use|could not create server tcp/i.test(reason)) {
      throw new EmbeddedError(`Redis did not start: ${reason}. See ${log}.`);
    }
  }
}

function configuration(options: RedisOptions, port: number, password: string): string {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    // The server itself writes the file, so that a later start finds the server if this process is killed.
    'pidfile pid',
    'dir ./',
    'save ""',
    `appendonly ${options.appendOnly ? 'yes' : 'no'}`,
    'appendfsync everysec',
    // A queue must not evict jobs.
    'maxmemory-policy noeviction',
    `databases ${options.databases ?? 16}`,
    ...(options.cluster
      ? ['cluster-enabled yes', `cluster-port ${options.cluster.busPort}`, 'cluster-node-timeout 2000']
      : []),
  ];
  return `${lines.join('\n')}\n`;
}

async function spawnServer(folder: ServerFolder, binary: string, logFile: string): Promise<ChildProcess> {
  // `lastFailure` must find only errors of this start.
  await rm(logFile, { force: true });
  const log = await open(logFile, 'wx', 0o600);
  try {
    const child = spawn(binary, ['redis.conf'], {
      ...folder.owner,
      cwd: folder.path,
      detached: true,
      windowsHide: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    // `waitUntilReady` reports a failed spawn.
    child.on('error', () => {});
    return child;
  } finally {
    await log.close();
  }
}

async function lastFailure(log: string): Promise<string> {
  const lines = (await readFile(log, 'utf8').catch(() => ''))
    .split('\n')
    .filter((line) => line.trim() !== '');
  const error = lines.findLast((line) => /error|fatal|could not|can't|failed|bad file/i.test(line));
  return (error ?? lines.at(-1) ?? 'its executable cannot be run').replace(/^.*?[#*]\s/, '').trim();
}

function stopper(child: ChildProcess, pidFile: string): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && isAlive(child)) await stopProcess(child.pid, STOP_STEPS);
    await rm(pidFile, { force: true });
  };
  return () => (stopped ??= stop());
}
