import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import { Cluster, Redis } from 'ioredis';
import { createOverlapGuard, type CheckLock, type LockStore } from './overlap-guard.ts';
import {
  KEY_PREFIX,
  QUEUE_OPTIONS,
  type QueueStore,
  type StoredQueue,
  type StoredWorker,
} from './queue-store.ts';
import type { RedisAddress } from './store-url.ts';

export type RedisClient = Redis | Cluster;
type Role = 'producer' | 'worker';

/** A connection that waits longer for a response is replaced. BullMQ's longest command takes ten seconds. */
const SILENT_CONNECTION_MS = 20_000;
/** Keys to scan at a time, so that other commands run in between. */
const SCANNED_AT_ONCE = 1_000;
const SENTINEL_TIMEOUT_MS = 2_000;

/** Connects to Redis, a Cluster or Sentinels. While it is unavailable, producer commands fail fast and worker commands wait. */
export function connectRedis(
  address: RedisAddress,
  role: Role,
  silentMs = SILENT_CONNECTION_MS,
  sentinelMs = SENTINEL_TIMEOUT_MS,
): RedisClient {
  const enableOfflineQueue = role === 'worker';
  const options = {
    maxRetriesPerRequest: null,
    connectTimeout: 5_000,
    keepAlive: 10_000,
    socketTimeout: silentMs,
  };
  if (address.kind === 'cluster') {
    return new Cluster([...address.nodes], {
      enableOfflineQueue,
      clusterRetryStrategy: reconnectDelayMs,
      // Certificates contain names, so names must not be resolved early.
      ...(address.options.tls && { dnsLookup: (name, done) => done(null, name) }),
      redisOptions: { ...options, ...address.options },
    });
  }
  const single = { ...options, enableOfflineQueue, retryStrategy: reconnectDelayMs };
  if (address.kind === 'redis') return new Redis(address.url, single);
  return new Redis({
    ...single,
    ...address.options,
    sentinels: [...address.sentinels],
    sentinelCommandTimeout: sentinelMs,
    sentinelRetryStrategy: reconnectDelayMs,
  });
}

function reconnectDelayMs(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 6), 2_000);
}

export function openRedisStore(
  address: RedisAddress,
  onError: (error: Error) => void,
  connectWithinMs: number,
): QueueStore {
  const clients = new Map<Role, RedisClient>();
  const clientOf = (role: Role): RedisClient => {
    const client = clients.get(role) ?? connectRedis(address, role).on('error', onError);
    clients.set(role, client);
    return client;
  };
  /** Waits until the producer is connected, because its commands would fail right after a start. */
  const connectedProducer = async (): Promise<RedisClient> => {
    const client = clientOf('producer');
    if (client.status !== 'ready')
      await once(client, 'ready', { signal: AbortSignal.timeout(connectWithinMs) });
    return client;
  };
  let counting: Promise<ReadonlyMap<string, number>> | null = null;
  return {
    overlapGuard: createOverlapGuard(redisLocks(() => clientOf('producer'))),
    openQueue: (name) => {
      const options = { connection: clientOf('producer'), prefix: KEY_PREFIX, ...QUEUE_OPTIONS };
      const queue: StoredQueue = new Queue(name, options);
      return queue.on('error', onError);
    },
    openWorker: (name, processor, options) => {
      const connection = { connection: clientOf('worker'), prefix: KEY_PREFIX };
      const worker: StoredWorker = new Worker(name, processor, { ...options, ...connection });
      return worker.on('error', onError);
    },
    countWorkers: async ({ name }) => {
      // Each list has all clients of the store, so calls at the same time share one.
      counting ??= countClients(clientOf('producer')).finally(() => (counting = null));
      return (await counting).get(`${KEY_PREFIX}:${Buffer.from(name).toString('base64')}`) ?? 0;
    },
    listQueues: async () => {
      const client = await connectedProducer();
      const nodes = client instanceof Cluster ? client.nodes('master') : [client];
      const names = new Set<string>();
      for (const node of nodes) {
        for await (const keys of node.scanStream({ match: `${KEY_PREFIX}:{*}:*`, count: SCANNED_AT_ONCE })) {
          for (const key of keys as string[])
            names.add(key.slice(KEY_PREFIX.length + 1, key.indexOf('}') + 1));
        }
      }
      return [...names];
    },
    readClock: async () => {
      const client = await connectedProducer();
      const [seconds = 0, microseconds = 0] = (await client.time()).map(Number);
      return seconds * 1_000 + microseconds / 1_000;
    },
    ping: async () => {
      const client = await connectedProducer();
      await client.ping();
    },
    close: async () => {
      for (const client of clients.values()) client.disconnect();
    },
  };
}

/** Counts clients by the names that BullMQ gives to workers. In a Cluster, a worker is a client of several nodes. */
async function countClients(client: RedisClient): Promise<ReadonlyMap<string, number>> {
  const nodes = client instanceof Cluster ? client.nodes() : [client];
  // Redis lists the clients of all its databases, even those of other systems.
  const database = client instanceof Cluster ? 0 : (client.options.db ?? 0);
  const counts = new Map<string, number>();
  for (const list of await Promise.all(nodes.map((node) => node.client('LIST')))) {
    const ofNode = new Map<string, number>();
    for (const [, name = '', db] of String(list).matchAll(/ name=(\S+?)(?::w:\S*)? .*? db=(\d+) /g))
      if (Number(db) === database) ofNode.set(name, (ofNode.get(name) ?? 0) + 1);
    for (const [name, count] of ofNode) counts.set(name, Math.max(count, counts.get(name) ?? 0));
  }
  return counts;
}

const ACQUIRE_SCRIPT = `
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return 1`;
const RELEASE_SCRIPT = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

function redisLocks(client: () => RedisClient): LockStore {
  return {
    acquire: async (lock) =>
      (await client().eval(ACQUIRE_SCRIPT, 1, lockKey(lock), lock.jobId, lock.forMs)) === 1,
    release: async (lock) => {
      await client().eval(RELEASE_SCRIPT, 1, lockKey(lock), lock.jobId);
    },
  };
}

function lockKey({ region, monitorId }: CheckLock): string {
  return `${KEY_PREFIX}:running:${region}:${monitorId}`;
}
