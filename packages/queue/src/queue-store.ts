import { JOBS, type JobKind } from '@tocsin/contracts/jobs';
import type { Processor, Queue, Worker, WorkerOptions } from 'bullmq';
import type { OverlapGuard } from './overlap-guard.ts';

export const KEY_PREFIX = 'tocsin';

/** The name of a queue in the store: `{checks.eu-west-1}`. The braces, a hash tag, keep its keys on one node of a Redis Cluster. */
export function storedName(kind: JobKind, region: string | null): string {
  const { queue, perRegion } = JOBS[kind];
  if (!perRegion) return `{${queue}}`;
  if (region === null) throw new TypeError(`queue ${queue} needs a region`);
  return `{${queue}.${region}}`;
}

/** The region of a stored name; null: none. */
export function regionOf(name: string): string | null {
  return /^\{(?:checks|triggers)\.(.+)\}$/.exec(name)?.[1] ?? null;
}

/** Typed as BullMQ's default; the Postgres-backed ones have the same methods. */
export type StoredQueue = Queue<object, unknown>;
export type StoredWorker = Worker<object, void>;
/** Worker settings that do not depend on the store. */
type StoreWorkerOptions = Omit<WorkerOptions, 'connection' | 'prefix'>;

/** The name of the further workers that a process has of the same queue, so that it counts as one. */
export const EXTRA_WORKER = 'extra';

/** Settings of every queue. BullMQ's event stream is short because it has no readers. */
export const QUEUE_OPTIONS = { streams: { events: { maxLen: 100 } } } as const;

/** One store of queues, Redis or Postgres. Each connects when it is first needed. */
export interface QueueStore {
  readonly kind: 'redis' | 'postgres';
  readonly overlapGuard: OverlapGuard;
  /** @param name as the store has it, from `storedName` */
  openQueue(name: string): StoredQueue;
  openWorker(name: string, processor: Processor<object, void>, options: StoreWorkerOptions): StoredWorker;
  /** The processes that take the jobs of a queue. */
  countWorkers(queue: StoredQueue): Promise<number>;
  /** The names of all queues that have something in the store. */
  listQueues(): Promise<string[]>;
  readClock(): Promise<number>;
  /** @throws Error if the store does not respond, or is a read-only Postgres */
  ping(): Promise<void>;
  /** Closes the connections. Queues and workers are closed by their owners. */
  close(): Promise<void>;
}
