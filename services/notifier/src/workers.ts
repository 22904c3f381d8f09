import { startJobWorker, type JobWorker } from '@tocsin/queue/job-worker';
import type { QueueStore } from '@tocsin/queue/queue-store';
import type { Logger } from '@tocsin/runtime/logger';
import type { Relay } from './relay.ts';

const CONCURRENCY = 20;

/** Starts the workers of both queues. Their jobs only wake the relay, which decides what is next in a fair order. */
export function startWorkers(store: QueueStore, relay: Relay, logger: Logger): JobWorker[] {
  const common = {
    region: null,
    concurrency: CONCURRENCY,
    onFailed: (jobId: string, error: Error): void => {
      logger.warn('A job failed. The relay will do its work.', { jobId, error });
    },
  };
  return [
    startJobWorker(store, { ...common, kind: 'statusChange', process: async () => relay.announce() }),
    startJobWorker(store, { ...common, kind: 'delivery', process: async () => relay.wake() }),
  ];
}
