import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findFreePort } from '../ports.ts';
import { stopProcess } from '../processes.ts';
import { findRedisServer, type RedisServer, startRedis } from '../redis.ts';
import { createTemporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

const MASTER = 'tocsin';

/** A local Sentinel that monitors a master and a replica. The Sentinel and the servers have different passwords. */
export class TestRedisSentinel {
  readonly #servers: readonly [RedisServer, RedisServer];
  readonly #sentinel: { readonly pid: number; readonly port: number };
  readonly #passwords: Passwords;
  readonly #remove: () => Promise<void>;

  private constructor(
    servers: readonly [RedisServer, RedisServer],
    sentinel: { readonly pid: number; readonly port: number },
    passwords: Passwords,
    remove: () => Promise<void>,
  ) {
    this.#servers = servers;
    this.#sentinel = sentinel;
    this.#passwords = passwords;
    this.#remove = remove;
  }

  static async start(): Promise<TestRedisSentinel> {
    const folder = await createTemporaryFolder();
    const passwords = { server: randomBytes(16).toString('hex'), sentinel: randomBytes(16).toString('hex') };
    const servers = await Promise.all([
      startRedis({ dataDir: join(folder.path, 'master'), appendOnly: false }),
      startRedis({ dataDir: join(folder.path, 'replica'), appendOnly: false }),
    ]);
    const [master, replica] = servers;
    await setPassword(master, passwords.server);
    await setPassword(replica, passwords.server, master.port);
    const sentinel = await startSentinel(folder.path, master.port, passwords);
    const started = new TestRedisSentinel(servers, sentinel, passwords, folder.remove);
    try {
      await started.#untilReady();
    } catch (error) {
      await started.stop();
      throw error;
    }
    return started;
  }

  /**
   * A value for `QUEUE_URL`.
   * @param others ports of other Sentinels, listed first
   */
  url(...others: number[]): string {
    const hosts = [...others, this.#sentinel.port].map((port) => `127.0.0.1:${port}`);
    const { server, sentinel } = this.#passwords;
    return `redis+sentinel://:${server}@${hosts.join(',')}/${MASTER}?sentinelPassword=${sentinel}`;
  }

  /** Kills the master. The replica becomes the master after a few seconds. */
  async killMaster(): Promise<void> {
    await stopProcess(this.#servers[0].pid, [['SIGKILL', 5_000]]);
  }

  async stop(): Promise<void> {
    await stopProcess(this.#sentinel.pid, [['SIGKILL', 5_000]]);
    await Promise.all(this.#servers.map((server) => server.stop()));
    await this.#remove();
  }

  /** Waits until the Sentinel knows the replica and the replica is in sync. */
  async #untilReady(): Promise<void> {
    const redis = new Redis(this.#sentinel.port, { password: this.#passwords.sentinel });
    // Connections fail until the Sentinel listens.
    redis.on('error', () => undefined);
    try {
      await until('the Sentinel to find the replica', async () => {
        const replicas = JSON.stringify(await redis.call('SENTINEL', 'REPLICAS', MASTER));
        return replicas.includes('"master-link-status","ok"');
      });
    } finally {
      redis.disconnect();
    }
  }
}

interface Passwords {
  readonly server: string;
  readonly sentinel: string;
}

async function setPassword({ url }: RedisServer, password: string, masterPort?: number): Promise<void> {
  const redis = new Redis(url);
  try {
    await redis.config('SET', 'masterauth', password);
    if (masterPort !== undefined) await redis.replicaof('127.0.0.1', masterPort);
    await redis.config('SET', 'requirepass', password);
  } finally {
    redis.disconnect();
  }
}

async function startSentinel(
  folder: string,
  masterPort: number,
  passwords: Passwords,
): Promise<{ pid: number; port: number }> {
  const binary = findRedisServer();
  if (binary === null) throw new Error('There is no redis-server or valkey-server on the PATH');
  const port = await findFreePort();
  const file = join(folder, 'sentinel.conf');
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${passwords.sentinel}`,
    `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} 1`,
    `sentinel auth-pass ${MASTER} ${passwords.server}`,
    `sentinel down-after-milliseconds ${MASTER} 1000`,
    `sentinel failover-timeout ${MASTER} 5000`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  const { pid } = spawn(binary, [file, '--sentinel'], { stdio: 'ignore' });
  if (pid === undefined) throw new Error(`${binary} cannot be run`);
  return { pid, port };
}
