import { Cluster, Redis } from 'ioredis';
import type { StoreAddress, StoreCredentials } from './store-url.ts';

export type RedisClient = Redis | Cluster;

/**
 * A server whose machine is gone says nothing, not even that: the kernel would go on sending for a quarter of an hour. What is
 * asked for so long without a word is asked again over another connection; BullMQ's longest question may take ten seconds.
 */
const SILENT_CONNECTION_MS = 20_000;
/** Then the next Sentinel is asked. */
const SENTINEL_ANSWERS_WITHIN_MS = 2_000;

/**
 * A connection to Redis in any of its deployments. A producer's fails fast while Redis is away (Postgres holds what it would
 * have said); a worker's waits and comes back.
 * @param silentMs after which a connection that owes an answer is given up
 * @param sentinelMs after which the next Sentinel is asked
 */
export function connectRedis(
  address: Exclude<StoreAddress, { kind: 'postgres' }>,
  role: 'producer' | 'worker',
  silentMs = SILENT_CONNECTION_MS,
  sentinelMs = SENTINEL_ANSWERS_WITHIN_MS,
): RedisClient {
  const options = {
    maxRetriesPerRequest: null,
    enableOfflineQueue: role === 'worker',
    connectTimeout: 5_000,
    keepAlive: 10_000,
    socketTimeout: silentMs,
    retryStrategy: reconnectDelayMs,
  };
  switch (address.kind) {
    case 'redis':
      return new Redis(address.url, options);
    case 'sentinel':
      return new Redis({
        ...options,
        ...credentialOptions(address.credentials),
        // Without these ioredis would speak to both in clear, whatever `tls` says.
        ...(address.credentials.tls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
        ...address.sentinelCredentials,
        sentinelCommandTimeout: sentinelMs,
        sentinelRetryStrategy: reconnectDelayMs,
        sentinels: [...address.sentinels],
        name: address.name,
        db: address.db,
      });
    case 'cluster':
      return new Cluster([...address.nodes], {
        enableOfflineQueue: role === 'worker',
        clusterRetryStrategy: reconnectDelayMs,
        // Certificates are for names: what a name stands for is asked by whoever connects.
        ...(address.credentials.tls && { dnsLookup: (name, answer) => answer(null, name) }),
        redisOptions: {
          maxRetriesPerRequest: null,
          connectTimeout: options.connectTimeout,
          keepAlive: options.keepAlive,
          socketTimeout: options.socketTimeout,
          ...credentialOptions(address.credentials),
        },
      });
  }
}

function reconnectDelayMs(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 6), 2_000);
}

function credentialOptions({
  tls,
  ...login
}: StoreCredentials): Omit<StoreCredentials, 'tls'> & { tls?: Record<string, never> } {
  return { ...login, ...(tls && { tls: {} }) };
}
