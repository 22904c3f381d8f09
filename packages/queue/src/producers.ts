import { JOBS, type JobKind, type JobPayload, type SingleCheck } from '@tocsin/contracts/jobs';
import { extraCheckJobId, type ExtraCheckReason } from '@tocsin/core/schedule/slots';
import { withDeadline } from '@tocsin/runtime/timeout';
import { currentTraceparent } from '@tocsin/runtime/tracing';
import { type QueueStore, regionOf, storedName, type StoredQueue } from './queue-store.ts';

/** A job may be lost, because loops find in Postgres what is due without a job. */
const ADD_WITHIN_MS = 2_000;

const REMOVE_WITHIN_MS = 10_000;
/** Longer than any command takes. */
const MAX_IDLE_MS = 10 * 60_000;
const SEEK_IDLE_EVERY_MS = 60_000;

/** A job would not be added if a finished job with its id were kept. */
export const FORGET_FINISHED = { removeOnComplete: true, removeOnFail: true } as const;

/** Adds jobs. Queues are opened when they are first needed. */
export class Producers {
  readonly #store: QueueStore;
  readonly #addWithinMs: number;
  readonly #queues = new Map<string, { readonly queue: StoredQueue; usedAt: number }>();
  #idleSoughtAt = -Infinity;

  constructor(store: QueueStore, addWithinMs: number = ADD_WITHIN_MS) {
    this.#store = store;
    this.#addWithinMs = addWithinMs;
  }

  queue(kind: JobKind, region: string | null): StoredQueue {
    const name = storedName(kind, region);
    const usedAt = performance.now();
    const known = this.#queues.get(name);
    if (known) {
      known.usedAt = usedAt;
      return known.queue;
    }
    this.#forgetIdle(usedAt);
    const queue = this.#store.openQueue(name);
    this.#queues.set(name, { queue, usedAt });
    return queue;
  }

  /** Clients may name any region, so idle queues are closed. */
  #forgetIdle(now: number): void {
    if (now - this.#idleSoughtAt < SEEK_IDLE_EVERY_MS) return;
    this.#idleSoughtAt = now;
    for (const [name, { usedAt }] of this.#queues) if (now - usedAt > MAX_IDLE_MS) this.#forget(name);
  }

  #forget(name: string): void {
    const entry = this.#queues.get(name);
    this.#queues.delete(name);
    entry?.queue.close().catch(() => undefined);
  }

  /** Lists the regions that have queues in the store. @throws Error if the store is unavailable */
  async listRegions(): Promise<string[]> {
    const names = await this.#store.listQueues();
    return [...new Set(names.flatMap((name) => regionOf(name) ?? []))];
  }

  /** Deletes the queues of a region with all jobs and schedulers. If interrupted, they stay paused until `RegionSchedules.audit`. */
  async removeRegion(region: string): Promise<void> {
    for (const kind of ['check', 'trigger'] as const) {
      const queue = this.queue(kind, region);
      // A queue stores its settings, such as its version, after it opens. Deleting it before that would leave them in the store.
      const removing = queue.getVersion().then(() => queue.obliterate({ force: true }));
      await withDeadline(removing, REMOVE_WITHIN_MS, 'removing the queues of a region');
      this.#forget(storedName(kind, region));
    }
  }

  countCheckWorkers(region: string): Promise<number> {
    return this.#store.countWorkers(this.queue('check', region));
  }

  /** Adds the first check of a new monitor in the current trace. A second call with the same slot (epoch milliseconds) adds nothing. */
  async addFirstCheck(region: string, payload: SingleCheck, slot: number): Promise<void> {
    const jobId = extraCheckJobId('first', payload.monitorId, slot);
    await this.#add('check', region, [{ payload, jobId }], currentTraceparent());
  }

  /** Adds checks that run at their slots (epoch milliseconds) in the current trace. A second check of a monitor in a slot adds nothing. */
  async addExtraChecks(
    region: string,
    reason: Exclude<ExtraCheckReason, 'first'>,
    checks: readonly (SingleCheck & { readonly slot: number })[],
  ): Promise<void> {
    const now = Date.now();
    const jobs = checks.map(({ slot, ...payload }) => {
      const jobId = extraCheckJobId(reason, payload.monitorId, slot);
      return { payload, jobId, delay: Math.max(0, slot - now) };
    });
    await this.#add('check', region, jobs, currentTraceparent());
  }

  async addTrigger(region: string, payload: JobPayload<'trigger'>): Promise<void> {
    await this.#add('trigger', region, [{ payload, jobId: payload.triggerId }], currentTraceparent());
  }

  async addStatusChanges(ids: readonly string[]): Promise<void> {
    const jobs = ids.map((statusChangeId) => ({ payload: { statusChangeId }, jobId: statusChangeId }));
    await this.#add('statusChange', null, jobs);
  }

  async addDeliveries(ids: readonly string[]): Promise<void> {
    const jobs = ids.map((deliveryId) => ({ payload: { deliveryId }, jobId: deliveryId }));
    await this.#add('delivery', null, jobs);
  }

  async close(): Promise<void> {
    const closing = Promise.all([...this.#queues.values()].map(({ queue }) => queue.close()));
    await withDeadline(closing, ADD_WITHIN_MS, 'closing the queues').catch(() => undefined);
  }

  async #add<Kind extends JobKind>(
    kind: Kind,
    region: string | null,
    jobs: readonly { payload: JobPayload<Kind>; jobId: string; delay?: number }[],
    traceparent?: string,
  ): Promise<void> {
    if (jobs.length === 0) return;
    const { job, payload: schema } = JOBS[kind];
    const bulk = jobs.map(({ payload, jobId, delay = 0 }) => ({
      name: job,
      data: schema.parse(payload),
      opts: {
        ...FORGET_FINISHED,
        jobId,
        delay,
        ...(traceparent && { telemetry: { metadata: traceparent } }),
      },
    }));
    await withDeadline(this.queue(kind, region).addBulk(bulk), this.#addWithinMs, `adding ${job} jobs`);
  }
}
