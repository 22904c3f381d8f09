import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { findExecutable } from '../executables.ts';
import { findFreePort } from '../ports.ts';
import { stopProcess } from '../processes.ts';
import { type RedisServer, startRedis } from '../redis.ts';
import { createTemporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

const NODES = 3;
const WHOLE_WITHIN_MS = 30_000;

interface Node {
  readonly dataDir: string;
  readonly busPort: number;
  server: RedisServer;
  readonly redis: Redis;
}

/** A local Redis Cluster of three nodes without replicas or persistence. */
export class TestRedisCluster {
  readonly #password: string;
  readonly #nodes: readonly Node[];
  readonly #remove: () => Promise<void>;

  private constructor(password: string, nodes: readonly Node[], remove: () => Promise<void>) {
    this.#password = password;
    this.#nodes = nodes;
    this.#remove = remove;
  }

  /** Creates a cluster with `redis-cli --cluster create`. Takes about four seconds. */
  static async start(): Promise<TestRedisCluster> {
    const folder = await createTemporaryFolder();
    const password = randomBytes(24).toString('hex');
    const starting = Array.from({ length: NODES }, (_, index) =>
      startNode(join(folder.path, `node-${index}`), password),
    );
    const cluster = new TestRedisCluster(password, await Promise.all(starting), folder.remove);
    try {
      await createCluster(cluster.#addresses, password);
      await cluster.untilReady();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** A value for `QUEUE_URL`. */
  get url(): string {
    return `redis+cluster://:${this.#password}@${this.#addresses.join(',')}`;
  }

  get #addresses(): string[] {
    return this.#nodes.map(({ server }) => `127.0.0.1:${server.port}`);
  }

  /** Runs a command on every node and returns the results. */
  runOnAllNodes<Result>(command: (redis: Redis) => Promise<Result>): Promise<Result[]> {
    return Promise.all(this.#nodes.map(({ redis }) => command(redis)));
  }

  /** Kills nodes. @returns a function that restarts them with their slots and without keys */
  async kill(which: (redis: Redis) => Promise<boolean>): Promise<() => Promise<void>> {
    const chosen = await this.runOnAllNodes(which);
    const killed = this.#nodes.filter((_, index) => chosen[index]);
    await Promise.all(killed.map(({ server }) => stopProcess(server.pid, [['SIGKILL', 5_000]])));
    return async () => {
      await Promise.all(
        killed.map(async (node) => {
          node.server = await runNode(node.dataDir, node.busPort, this.#password);
        }),
      );
      await this.untilReady();
    };
  }

  async untilReady(): Promise<void> {
    await until('the nodes to form a cluster', async () =>
      (await this.runOnAllNodes(isReady)).every(Boolean),
    );
  }

  async stop(): Promise<void> {
    for (const { redis } of this.#nodes) redis.disconnect();
    await Promise.all(this.#nodes.map(({ server }) => server.stop()));
    await this.#remove();
  }
}

async function startNode(dataDir: string, password: string): Promise<Node> {
  const busPort = await findFreePort();
  const server = await runNode(dataDir, busPort, password);
  const redis = new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 100 });
  // Tests kill nodes.
  redis.on('error', () => undefined);
  return { dataDir, busPort, server, redis };
}

function runNode(dataDir: string, busPort: number, password: string): Promise<RedisServer> {
  return startRedis({ dataDir, appendOnly: false, cluster: { busPort, password } });
}

async function createCluster(addresses: readonly string[], password: string): Promise<void> {
  const program = findExecutable(['redis-cli', 'valkey-cli'], process.env['PATH'] ?? '');
  if (program === null) throw new Error('There is no redis-cli or valkey-cli on the PATH');
  await promisify(execFile)(program, ['--cluster', 'create', ...addresses, '--cluster-yes'], {
    env: { ...process.env, REDISCLI_AUTH: password },
    timeout: WHOLE_WITHIN_MS,
  });
}

async function isReady(redis: Redis): Promise<boolean> {
  return (await redis.cluster('INFO')).includes('cluster_state:ok');
}
