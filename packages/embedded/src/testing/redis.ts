import { Redis } from 'ioredis';

const DATABASES = 1024;

/** The address of an empty logical database of the test run's Redis, for one test file. */
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
