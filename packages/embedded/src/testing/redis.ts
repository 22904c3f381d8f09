import { Redis } from 'ioredis';

const DATABASES = 1024;

/** Provides an empty logical database in the test run's Redis for one test file. */
export async function createTestRedis(): Promise<{ url: string }> {
  const url = process.env['TEST_REDIS_URL'];
  if (url === undefined) throw new Error('TEST_REDIS_URL is not set: run the tests with `npm test`');
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1 });
  try {
    await redis.connect();
    // Database 0 holds the counter.
    const count = await redis.incr('test-databases');
    const number = 1 + (count % (DATABASES - 1));
    await redis.select(number);
    await redis.flushdb();
    return { url: `${url}/${number}` };
  } finally {
    redis.disconnect();
  }
}

/** Returns all keys of a logical database with their contents as text. */
export async function readTestRedis(url: string): Promise<{ key: string; content: string }[]> {
  const redis = new Redis(url);
  try {
    const keys = await redis.keys('*');
    return await Promise.all(
      keys.map(async (key) => ({ key, content: JSON.stringify(await contentOf(redis, key)) })),
    );
  } finally {
    redis.disconnect();
  }
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'hash':
      return redis.hgetall(key);
    case 'stream':
      return redis.xrange(key, '-', '+');
    case 'zset':
      return redis.zrange(key, '0', '-1');
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    default:
      return redis.get(key);
  }
}
