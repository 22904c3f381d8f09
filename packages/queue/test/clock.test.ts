import { expect, test } from '@jest/globals';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { openQueueStore } from '@tocsin/queue/queue-stores';
import { PATIENT_MS } from './stores.ts';

/** Both read the clock of this machine, not in the same way. */
const INACCURACY_MS = 1_000;

test.each(['redis', 'postgres'] as const)(
  'a store reports its clock right after it was opened: %s',
  async (kind) => {
    const server =
      kind === 'redis' ? { ...(await createTestRedis()), drop: undefined } : await createTestDatabase();
    const store = openQueueStore(server.url, () => undefined, { connectWithinMs: PATIENT_MS });
    try {
      const before = Date.now();
      const clock = await store.readClock();
      expect(clock).toBeGreaterThan(before - INACCURACY_MS);
      expect(clock).toBeLessThan(Date.now() + INACCURACY_MS);
    } finally {
      await store.close();
      await server.drop?.();
    }
  },
);
