import { startJobWorker, type JobWorker } from '@tocsin/queue/job-worker';
import type { QueueStore } from '@tocsin/queue/queue-store';
import type { Logger } from '@tocsin/runtime/logger';

const STATUS_CHANGE_CONCURRENCY = 20;
const DELIVERY_CONCURRENCY = 100;

export interface WorkersOptions {
  readonly store: QueueStore;
  readonly announce: () => void;
  readonly deliver: (deliveryId: string) => Promise<void>;
  readonly logger: Logger;
}

/** Starts the workers of both queues. Their jobs are hints, so the relay does the work of a failed job. */
export function startWorkers({ store, announce, deliver, logger }: WorkersOptions): JobWorker[] {
  const onFailed = (jobId: string, error: Error): void => {
    logger.warn('A job failed. The relay will do its work.', { jobId, error });
  };
  return [
    startJobWorker(store, {
      kind: 'statusChange',
      region: null,
      concurrency: STATUS_CHANGE_CONCURRENCY,
      process: async () => announce(),
      onFailed,
    }),
    startJobWorker(store, {
      kind: 'delivery',
      region: null,
      concurrency: DELIVERY_CONCURRENCY,
      process: ({ deliveryId }) => deliver(deliveryId),
      onFailed,
    }),
  ];
}
