import { type JobKind, type JobPayload, JOBS, type SingleCheck } from '@tocsin/contracts/jobs';
import { firstCheckJobId } from '@tocsin/core/schedule/slots';
import { withDeadline } from './deadline.ts';
import { storedName } from './queue-store.ts';
import type { QueueStore, StoredQueue } from './queue-store.ts';
import type { QueueStores } from './queue-stores.ts';

/** How long an enqueue may take. Every job is a hint: Postgres knows what is due, and a loop finds it without the hint. */
const ENQUEUE_DEADLINE_MS = 2_000;

/** Nothing is kept of finished jobs: an `add` with the id of a kept one would be ignored silently. */
export const FORGET_FINISHED = { removeOnComplete: true, removeOnFail: true } as const;

/** The queues a process adds jobs to, opened when first used. */
export class Producers {
  readonly #stores: QueueStores;
  readonly #deadlineMs: number;
  readonly #queues = new Map<string, StoredQueue>();

  /** @param deadlineMs how long an enqueue may take */
  constructor(stores: QueueStores, deadlineMs: number = ENQUEUE_DEADLINE_MS) {
    this.#stores = stores;
    this.#deadlineMs = deadlineMs;
  }

  /** The queue of a kind of job. @param region null for queues that have none */
  queue(kind: JobKind, region: string | null): StoredQueue {
    const name = storedName(kind, region);
    const known = this.#queues.get(name);
    if (known) return known;
    const queue = this.#store(region).openQueue(name);
    this.#queues.set(name, queue);
    return queue;
  }

  /** How many workers take jobs of this queue now. @param region null for queues that have none */
  countWorkers(kind: JobKind, region: string | null): Promise<number> {
    return this.#store(region).countWorkers(this.queue(kind, region));
  }

  /**
   * Checks a new monitor now, once; a second call with the same slot adds nothing. `slot` is epoch milliseconds.
   * @param traceparent of what asked for it, for the trace of the check
   */
  async addFirstCheck(
    region: string,
    payload: SingleCheck,
    slot: number,
    traceparent?: string,
  ): Promise<void> {
    const jobId = firstCheckJobId(payload.monitorId, slot);
    await this.#add('check', region, [{ payload, jobId }], traceparent);
  }

  /** @param traceparent of what asked for it, for the trace of the check */
  async addTrigger(region: string, payload: JobPayload<'trigger'>, traceparent?: string): Promise<void> {
    await this.#add('trigger', region, [{ payload, jobId: payload.triggerId }], traceparent);
  }

  async addStatusChanges(ids: readonly string[]): Promise<void> {
    const jobs = ids.map((statusChangeId) => ({ payload: { statusChangeId }, jobId: statusChangeId }));
    await this.#add('statusChange', null, jobs);
  }

  async addDeliveries(ids: readonly string[]): Promise<void> {
    const jobs = ids.map((deliveryId) => ({ payload: { deliveryId }, jobId: deliveryId }));
    await this.#add('delivery', null, jobs);
  }

  #store(region: string | null): QueueStore {
    return region === null ? this.#stores.main : this.#stores.forRegion(region);
  }

  async #add<Kind extends JobKind>(
    kind: Kind,
    region: string | null,
    jobs: readonly { payload: JobPayload<Kind>; jobId: string }[],
    traceparent?: string,
  ): Promise<void> {
    if (jobs.length === 0) return;
    const { job, payload: schema } = JOBS[kind];
    const bulk = jobs.map(({ payload, jobId }) => ({
      name: job,
      data: schema.parse(payload),
      opts: { ...FORGET_FINISHED, jobId, ...(traceparent && { telemetry: { metadata: traceparent } }) },
    }));
    await withDeadline(this.queue(kind, region).addBulk(bulk), this.#deadlineMs, `adding ${job} jobs`);
  }

  async close(): Promise<void> {
    const closing = Promise.all([...this.#queues.values()].map((queue) => queue.close()));
    await withDeadline(closing, ENQUEUE_DEADLINE_MS, 'closing the queues').catch(() => undefined);
  }
}
