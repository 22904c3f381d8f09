import type { SingleCheck } from '@tocsin/contracts/jobs';
import { LIMITS } from '@tocsin/contracts/limits';
import {
  GRACE_MS,
  isPlannedSlot,
  isRetry,
  isTooLate,
  mayOverlap,
  MAX_LATENESS_MS,
  nextSlot,
  slotOfJob,
} from '@tocsin/core/schedule/slots';
import { MAX_PROOF_WAIT_MS } from '@tocsin/core/status/apply-check';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { UnreadableMonitorError } from '@tocsin/db/monitors/monitor-codec';
import { JobPostponedError, JobReturnedError } from '@tocsin/queue/job-worker';
import type { OverlapGuard, ReleaseLock } from '@tocsin/queue/overlap-guard';
import type { Logger } from '@tocsin/runtime/logger';
import { withDeadline } from '@tocsin/runtime/timeout';
import { ProbeThrottledError } from '@tocsin/probe/probe';
import { ExpiringMap } from '../targets/expiring-map.ts';
import type { CheckCapacity, Permit } from './check-capacity.ts';
import { MissedSlots, type RegionAgents, type SkipReason } from './missed-slots.ts';
import { type CheckContext, runCheck } from './run-check.ts';
import { TurnLimit } from './turn-limit.ts';

export interface ScheduledCheckContext extends CheckContext {
  readonly region: string;
  readonly capacity: CheckCapacity;
  readonly overlapGuard: OverlapGuard;
  readonly agents?: RegionAgents | undefined;
  readonly logger: Logger;
}

interface CheckJob {
  readonly id: string;
  readonly monitorId: string;
  readonly slot: number;
  readonly onSlow: () => void;
}

/** After a longer wait for a permit, the monitor may have changed. */
const READ_AGAIN_AFTER_MS = 1_000;
/** If Postgres takes longer, the check uses the monitor as it was before the wait. */
const READ_AGAIN_WITHIN_MS = 2_000;
/** A check may hold its lock this much longer than its timeout and the wait for proof. After that, its process counts as killed. */
const LOCK_GRACE_MS = 5_000;
/** If the store takes longer, the check runs without a lock. Its slot still counts only once. */
const LOCK_WITHIN_MS = 1_000;
/** A wave can start thousands of checks, and the event loop must read from sockets in between. */
const STARTS_PER_TURN = 50;
/** A check whose process died this often may be the cause, so it does not run again. */
const MAX_STALLS = 2;
const LOG_UNREADABLE_EVERY_MS = 10 * 60_000;

const noLock: ReleaseLock = async () => undefined;

export class ScheduledChecks {
  readonly #context: ScheduledCheckContext;
  readonly #missed: MissedSlots;
  readonly #starts = new TurnLimit(STARTS_PER_TURN);
  /** Reasons to skip the next check of monitors whose check waits for a permit or runs. `extra` marks a check that is not planned. */
  readonly #current = new Map<string, 'overlap' | 'throttled' | 'extra'>();
  readonly #unreadable: ExpiringMap<string, true> = new ExpiringMap();

  constructor(context: ScheduledCheckContext) {
    this.#context = context;
    this.#missed = new MissedSlots(context.region, context.metrics.missed, context.agents);
  }

  /**
   * Runs one check of a job, unless it is too late or another check of the monitor is running.
   * @param intervalSeconds null for a single check
   * @param stalls number of times that a checker died or hung while it ran this job
   * @param onSlow called once, when the check only waits for its target or a slow permit
   * @throws JobPostponedError if Postgres is unavailable, JobReturnedError if the process shuts down
   */
  async run(
    { monitorId, revision }: SingleCheck,
    jobId: string,
    intervalSeconds: number | null,
    stalls = 0,
    onSlow: () => void = () => undefined,
  ): Promise<void> {
    const { region, logger } = this.#context;
    const slot = slotOfJob(jobId);
    if (slot === null) throw new TypeError(`job id "${jobId}" names no slot`);
    const job: CheckJob = { id: jobId, monitorId, slot, onSlow };
    if (stalls >= MAX_STALLS) {
      logger.error('Abandoned a check after two worker crashes', { monitorId, region, jobId });
      return this.#skip(job, 'crashed');
    }
    // This comes first, so that the job ends even if reading always fails.
    if (isTooLate(slot, intervalSeconds ?? LIMITS.intervalSeconds.max, Date.now()))
      return this.#skip(job, 'late');
    const target = this.#checkable(job, await this.#read(job, this.#assigned(monitorId, revision)));
    if (target === null) return;
    const current = this.#current.get(monitorId);
    if (current === 'extra' && isPlannedSlot(jobId)) throw new JobPostponedError('an extra check runs');
    if (current !== undefined) return this.#skip(job, current === 'extra' ? 'overlap' : current);
    try {
      await this.#runWithPermit(target, job);
    } finally {
      this.#current.delete(monitorId);
    }
  }

  /** Returns the monitor at `revision` or later, or null if it is deleted. A new default region moves monitors without changing their revision. */
  async #assigned(monitorId: string, revision: number): Promise<CheckTarget | null> {
    const { targets, region } = this.#context;
    const cached = await targets.get(monitorId, revision);
    if (cached === null || cached.regions.includes(region)) return cached;
    targets.evict(monitorId);
    return targets.get(monitorId, revision);
  }

  /** Returns the monitor if this job should check it now. Otherwise counts the reason and returns null. */
  #checkable(job: CheckJob, target: CheckTarget | 'unreadable' | null): CheckTarget | null {
    const { region, metrics } = this.#context;
    if (target === 'unreadable') this.#skip(job, 'unreadable');
    else if (target === null || !target.regions.includes(region))
      metrics.skipped.inc({ region, reason: 'unassigned' });
    else if (!target.enabled) metrics.skipped.inc({ region, reason: 'paused' });
    else if (Date.now() > latestStart(target, job)) this.#skip(job, 'late');
    else return target;
    return null;
  }

  /**
   * Returns null if the monitor is deleted, or `unreadable` if, for example, no key decrypts it.
   * @throws JobPostponedError if Postgres is unavailable
   */
  async #read(
    { monitorId }: CheckJob,
    reading: Promise<CheckTarget | null>,
  ): Promise<CheckTarget | 'unreadable' | null> {
    const { logger, region } = this.#context;
    try {
      const target = await reading;
      this.#unreadable.delete(monitorId);
      return target;
    } catch (error) {
      if (!(error instanceof UnreadableMonitorError))
        throw new JobPostponedError('the monitor could not be read', { cause: error });
      if (this.#unreadable.get(monitorId) === undefined)
        logger.error('A monitor cannot be read and is not checked', { monitorId, region, error });
      this.#unreadable.set(monitorId, true, LOG_UNREADABLE_EVERY_MS);
      return 'unreadable';
    }
  }

  async #runWithPermit(target: CheckTarget, job: CheckJob): Promise<void> {
    const { capacity } = this.#context;
    const { monitorId } = target;
    const running = isPlannedSlot(job.id) ? 'overlap' : 'extra';
    this.#current.set(monitorId, running === 'overlap' && capacity.isSlow(monitorId) ? 'throttled' : running);
    const maxWaitMs = Math.min(latestStart(target, job) - Date.now(), MAX_LATENESS_MS);
    const permit = await capacity.acquire(target, maxWaitMs, job.onSlow);
    if (permit === 'closed') throw new JobReturnedError('the checker shuts down');
    if (permit === 'late' || permit === 'throttled') return this.#skip(job, permit);
    this.#current.set(monitorId, running);
    try {
      const latest = permit.waitedMs > READ_AGAIN_AFTER_MS ? await this.#readAgain(target, job) : target;
      if (latest !== null) await this.#runLocked(latest, job, permit);
    } finally {
      permit.release();
    }
  }

  /** Returns the monitor after a wait, or as it was before if Postgres is unavailable. Null if it should no longer be checked. */
  async #readAgain(target: CheckTarget, job: CheckJob): Promise<CheckTarget | null> {
    const reading = this.#read(job, this.#context.targets.latest(target.monitorId));
    const read = await withDeadline(reading, READ_AGAIN_WITHIN_MS, 'reading a monitor').catch(() => target);
    return this.#checkable(job, read);
  }

  async #runLocked(target: CheckTarget, job: CheckJob, permit: Permit): Promise<void> {
    const release = await this.#lock(target, job.id);
    if (release === null) {
      // Another process may be running a retry, which must not cost a planned check.
      if (target.retryIntervalSeconds === null || !isPlannedSlot(job.id)) return this.#skip(job, 'overlap');
      throw new JobPostponedError('another check of the monitor runs');
    }
    try {
      const turn = this.#starts.take();
      if (turn !== null) await turn;
      const { region, metrics } = this.#context;
      const { monitorId, slot } = job;
      // The retry of a long check is added after its slot.
      if (!isRetry(job.id)) metrics.lagSeconds.observe({ region }, Math.max(0, Date.now() - slot) / 1_000);
      const request = { region, source: 'schedule', slot, triggerId: null, urlOverride: null } as const;
      const { signal, begin, probed } = permit;
      const progress = { signal, onBegin: begin, onProbed: probed, onWaiting: job.onSlow };
      const outcome = await runCheck(this.#context, target, request, progress);
      if (outcome.kind === 'recorded' && isPlannedSlot(job.id))
        this.#missed.recorded(monitorId, slot, outcome.gap);
    } catch (error) {
      if (!(error instanceof ProbeThrottledError)) throw error;
      this.#skip(job, error.reason);
    } finally {
      // This is not awaited, because a hanging store must not block this worker. The lock expires anyway.
      release().catch(() => undefined);
    }
  }

  /** Resolves to null if another process is checking the monitor. If the store is unavailable, the check runs anyway. */
  async #lock(
    { monitorId, intervalSeconds, timeoutSeconds, retryIntervalSeconds }: CheckTarget,
    jobId: string,
  ): Promise<ReleaseLock | null> {
    if (retryIntervalSeconds === null && !mayOverlap(intervalSeconds, timeoutSeconds)) return noLock;
    const { overlapGuard, region } = this.#context;
    const forMs = timeoutSeconds * 1_000 + MAX_PROOF_WAIT_MS + LOCK_GRACE_MS;
    const lock = { region, monitorId, jobId, forMs };
    return overlapGuard.acquire(lock, LOCK_WITHIN_MS).catch(() => noLock);
  }

  #skip({ id, monitorId, slot }: CheckJob, reason: SkipReason): void {
    if (isPlannedSlot(id)) this.#missed.skip(monitorId, slot, reason);
    else this.#context.metrics.skipped.inc({ region: this.#context.region, reason });
  }
}

/** Returns the latest start of a check in epoch milliseconds. A retry is useless once the next planned check is due. */
function latestStart({ monitorId, intervalSeconds }: CheckTarget, { id, slot }: CheckJob): number {
  return isRetry(id)
    ? nextSlot(monitorId, intervalSeconds, slot) - 1
    : slot + intervalSeconds * 1_000 + GRACE_MS;
}
