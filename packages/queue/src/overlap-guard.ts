import { setTimeout as delay } from 'node:timers/promises';
import { withDeadline } from '@tocsin/runtime/timeout';

/** The lock of one monitor's check in one region. */
export interface CheckLock {
  readonly region: string;
  readonly monitorId: string;
  /** The job that acquires it may acquire it again, because its process may have been killed meanwhile. */
  readonly jobId: string;
  /** The lock expires after this, because its process may have been killed. */
  readonly forMs: number;
}

/** What a store does for the guard, each in one atomic step. */
export interface LockStore {
  /** @returns false if another job holds the lock */
  acquire(lock: CheckLock): Promise<boolean>;
  /** Does nothing if another job holds the lock. */
  release(lock: CheckLock): Promise<void>;
}

/** Releases a lock. While the store fails, it tries again until the lock has expired, and then rejects. */
export type ReleaseLock = () => Promise<void>;

/** A check of a few seconds may end while the connection is being restored. */
const RETRY_RELEASE_MS = 1_000;

/** Keeps two processes from running the same check at once, if a check may last longer than half its interval. */
export interface OverlapGuard {
  /** Null if another process runs the check. @throws Error if the store fails, or takes longer than `withinMs` */
  acquire(lock: CheckLock, withinMs: number): Promise<ReleaseLock | null>;
}

export function createOverlapGuard(store: LockStore): OverlapGuard {
  const release = async (lock: CheckLock, expiresAt: number): Promise<void> => {
    for (;;) {
      try {
        return await store.release(lock);
      } catch (error) {
        if (performance.now() >= expiresAt) throw error;
      }
      // The process does not wait for it.
      await delay(RETRY_RELEASE_MS, undefined, { ref: false });
    }
  };
  return {
    acquire: async (lock, withinMs) => {
      const expiresAt = performance.now() + lock.forMs;
      const releaseLock = (): Promise<void> => release(lock, expiresAt);
      const acquiring = store.acquire(lock);
      try {
        return (await withDeadline(acquiring, withinMs, 'locking a check')) ? releaseLock : null;
      } catch (error) {
        // The store may still acquire the lock later, which would block the next checks of the monitor.
        acquiring.then(releaseLock, releaseLock).catch(() => undefined);
        throw error;
      }
    },
  };
}
