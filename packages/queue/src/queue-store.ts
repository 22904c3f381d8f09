import { JOBS, type JobKind } from '@tocsin/contracts/jobs';
import type { Processor, Queue, Worker, WorkerOptions } from 'bullmq';
import type { OverlapGuard } from './overlap-guard.ts';

export const KEY_PREFIX = 'tocsin';

/** Name of a queue in the store, such as `{checks.eu-west-1}`. The braces keep its keys on one node of a Redis Cluster. */
export function storedName(kind: JobKind, region: string | null): string {
  const { queue, perRegion } = JOBS[kind];
  if (!perRegion) return `{${queue}}`;
  if (region === null) throw new TypeError(`queue ${queue} needs a region`);
  return `{${queue}.${region}}`;
}

/** Null if the queue belongs to no region. */
export function regionOf(name: string): string | null {
  return /^\{(?:checks|triggers)\.(.+)\}$/.exec(name)?.[1] ?? null;
}

/** Typed like BullMQ's default. The Postgres classes have the same methods. */
export type StoredQueue = Queue<object, unknown>;
export type StoredWorker = Worker<object, void>;
type StoreWorkerOptions = Omit<WorkerOptions, 'connection' | 'prefix'>;

/** BullMQ's event stream is short because nothing reads it. */
export const QUEUE_OPTIONS = { streams: { events: { maxLen: 100 } } } as const;

/** A store of queues, which connects when it is first needed. */
export interface QueueStore {
  readonly overlapGuard: OverlapGuard;
  /** @param name from `storedName` */
  openQueue(name: string): StoredQueue;
  openWorker(name: string, processor: Processor<object, void>, options: StoreWorkerOptions): StoredWorker;
  /** Counts the processes that take jobs of a queue. */
  countWorkers(queue: StoredQueue): Promise<number>;
  /** Names of the queues that have any keys or rows in the store. */
  listQueues(): Promise<string[]>;
  readClock(): Promise<number>;
  /** @throws Error if the store does not respond, or is a read-only Postgres */
  ping(): Promise<void>;
  /** Closes the connections, but not queues and workers, which their owners close. */
  close(): Promise<void>;
}
