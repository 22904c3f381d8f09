import { setTimeout as delay } from 'node:timers/promises';
import { withDeadline } from '@tocsin/runtime/timeout';

export interface CheckLock {
  readonly region: string;
  readonly monitorId: string;
  /** The same job may acquire the lock again, because its process may have been killed. */
  readonly jobId: string;
  /** The lock expires after this time, because its process may have been killed. */
  readonly forMs: number;
}

/** Each operation is one atomic step. */
export interface LockStore {
  acquire(lock: CheckLock): Promise<boolean>;
  release(lock: CheckLock): Promise<void>;
}

/** Releases a lock. Retries while the store fails, and rejects once the lock has expired. */
export type ReleaseLock = () => Promise<void>;

const RETRY_RELEASE_MS = 1_000;

/** Prevents two processes from running the same check at the same time. */
export interface OverlapGuard {
  /** Resolves to null if another process runs the check. @throws Error if the store fails, or takes longer than `withinMs` */
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
        // The store may still acquire the lock, which would block the next checks of the monitor.
        acquiring.then(releaseLock, releaseLock).catch(() => undefined);
        throw error;
      }
    },
  };
}
