import { expect, test } from '@jest/globals';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { openQueueStore } from '@tocsin/queue/queue-store';

test.each(['redis', 'postgres'] as const)(
  'a store that was only just opened tells its clock: %s',
  async (kind) => {
    const server =
      kind === 'redis' ? { ...(await createTestRedis()), drop: undefined } : await createTestDatabase();
    const store = openQueueStore(server.url, () => undefined);
    try {
      expect(Math.abs((await store.readClock()) - Date.now())).toBeLessThan(10_000);
    } finally {
      await store.close();
      await server.drop?.();
    }
  },
);
