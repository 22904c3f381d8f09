import { acquireLeaderLease, ADVISORY_LOCKS } from '@tocsin/db/database/leader-lease';
import { createLeaderLoop } from '@tocsin/runtime/leader';
import type { LeaderLoop } from '@tocsin/runtime/leader';
import type { Logger } from '@tocsin/runtime/logger';
import type { Reconciler } from './reconciler.ts';

export const EVERY_MS = 2_500;
/** With the run and the audit after it, a dead leader's work is taken up well within 15 s (design §4 "Schedules"). */
export const TAKE_OVER_EVERY_MS = 3_000;

/**
 * Runs the reconciler in one api process at a time.
 * @param databaseUrl a direct connection, not a transaction pooler's
 */
export function startReconciler(reconciler: Reconciler, databaseUrl: string, logger: Logger): LeaderLoop {
  const loop = createLeaderLoop({
    name: 'the schedule reconciler',
    everyMs: EVERY_MS,
    retryMs: TAKE_OVER_EVERY_MS,
    logger,
    acquire: (signal) => acquireLeaderLease(databaseUrl, ADVISORY_LOCKS.reconciler, signal),
    onElected: () => reconciler.begin(),
    onLost: () => reconciler.end(),
    work: (signal) => reconciler.run(signal),
  });
  return {
    ...loop,
    async stop() {
      await loop.stop();
      await reconciler.settle();
    },
  };
}
