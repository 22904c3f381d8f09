import type { Wave } from '@tocsin/core/schedule/slots';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { migrateQueue } from '@tocsin/queue/migrate';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStores, type QueueStores } from '@tocsin/queue/queue-stores';
import { Redis } from 'ioredis';
import { Client } from 'pg';

/** For the deadlines of a service that are not the topic of a test: a busy machine does not reach them. */
export const PATIENT_MS = 120_000;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A daily wave that is due in about half a day, so never during a test. @param number distinguishes several */
export function distantWave(number = 0): Wave {
  const hour = Math.floor((Date.now() + DAY_MS / 2) / HOUR_MS) % 24;
  return { intervalSeconds: DAY_MS / 1_000, phaseMs: hour * HOUR_MS + 1 + number * 50 };
}

export interface TestStore {
  readonly stores: QueueStores;
  readonly producers: Producers;
  /** Removes a job as a crash of the store may, behind BullMQ's back. */
  loseJob(storedQueue: string, jobId: string): Promise<void>;
  close(): Promise<void>;
}

/** An empty store of its own. The contract tests run on both kinds. */
export async function openTestStore(kind: 'redis' | 'postgres'): Promise<TestStore> {
  const server =
    kind === 'redis' ? { ...(await createTestRedis()), drop: undefined } : await createTestDatabase();
  await migrateQueue(server.url);
  const stores = openQueueStores(server.url, new Map(), () => undefined);
  const producers = new Producers(stores, PATIENT_MS);
  await untilItResponds(stores);
  return {
    stores,
    producers,
    loseJob: (queue, jobId) => (kind === 'redis' ? loseInRedis : loseInPostgres)(server.url, queue, jobId),
    close: async () => {
      await producers.close();
      await stores.close();
      await server.drop?.();
    },
  };
}

export async function untilItResponds(stores: QueueStores): Promise<void> {
  await until('the store to respond', () =>
    stores.ping().then(
      () => true,
      () => false,
    ),
  );
}

async function loseInRedis(url: string, queue: string, jobId: string): Promise<void> {
  const redis = new Redis(url);
  try {
    const removed = await redis.zrem(`tocsin:${queue}:delayed`, jobId);
    await redis.del(`tocsin:${queue}:${jobId}`);
    if (removed !== 1) throw new Error(`no delayed job ${jobId}`);
  } finally {
    redis.disconnect();
  }
}

async function loseInPostgres(url: string, queue: string, jobId: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query('delete from bullmq.job where queue = $1 and id = $2', [
      queue,
      jobId,
    ]);
    if (rowCount !== 1) throw new Error(`no job ${jobId}`);
  } finally {
    await client.end();
  }
}
