import type { SingleCheck } from '@tocsin/contracts/jobs';
import { LIMITS } from '@tocsin/contracts/limits';
import {
  GRACE_MS,
  isPlannedSlot,
  isTooLate,
  mayOverlap,
  MOST_LATE_MS,
  slotOfJob,
} from '@tocsin/core/schedule/slots';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { UnreadableMonitorError } from '@tocsin/db/monitors/monitor-codec';
import { withDeadline } from '@tocsin/queue/deadline';
import { JobPostponedError, JobReturnedError } from '@tocsin/queue/job-worker';
import type { OverlapGuard, ReleaseLock } from '@tocsin/queue/overlap-guard';
import type { Logger } from '@tocsin/runtime/logger';
import type { MissReason } from '../metrics.ts';
import { ProbeThrottledError } from '../probe/body-budget.ts';
import { ExpiringMap } from '../targets/expiring-map.ts';
import type { CheckCapacity, Permit } from './check-capacity.ts';
import { MissedSlots } from './missed-slots.ts';
import { type CheckContext, runCheck } from './run-check.ts';

/** The scheduled checks of one region. */
export interface ScheduledCheckContext extends CheckContext {
  readonly region: string;
  readonly capacity: CheckCapacity;
  readonly overlapGuard: Pick<OverlapGuard, 'acquire'>;
  readonly logger: Logger;
}

/** The job of one planned check. */
interface CheckJob {
  readonly id: string;
  readonly monitorId: string;
  /** Epoch milliseconds. */
  readonly slot: number;
  /** Null where only the monitor says it. */
  readonly intervalSeconds: number | null;
  /** Called once where the check only waits from then on. */
  readonly onSlow: () => void;
}

/** After a longer wait for a permit the monitor is read again: it may be another one by then, or gone. */
const READ_AGAIN_AFTER_MS = 1_000;
/** Postgres is unavailable where it takes longer; the check runs with what was read before. */
const READ_AGAIN_WITHIN_MS = 2_000;

/** How much longer than its timeout a check may hold the guard before it counts as gone with its process. */
const GUARD_GRACE_MS = 5_000;
/** A store that takes longer is away; the check runs without the guard, and its slot still counts once. */
const LOCK_WITHIN_MS = 1_000;

/** A check that is under way so often when its process dies may be what kills it: it is not run again. */
const MOST_STALLS = 2;

/** A monitor that cannot be read is logged this often. */
const LOG_UNREADABLE_EVERY_MS = 10 * 60_000;

const noLock: ReleaseLock = async () => undefined;

/** Runs the scheduled checks of one region (design §4 "Slot"). */
export class ScheduledChecks {
  readonly #context: ScheduledCheckContext;
  readonly #missed: MissedSlots;
  /** Monitors whose check waits for a permit or runs, and why the next one is skipped while it does. */
  readonly #current = new Map<string, 'overlap' | 'throttled'>();
  readonly #unreadable = new ExpiringMap<string, true>();

  constructor(context: ScheduledCheckContext) {
    this.#context = context;
    this.#missed = new MissedSlots(context.region, context.metrics.missed);
  }

  /**
   * Runs one check of a job: at most one of a monitor at a time, and none that is too late to be of use.
   * @param intervalSeconds of the wave; null for a single check
   * @param stalls how often a checker died, or hung, while it ran this job
   * @param onSlow called once where the check only waits from then on
   * @throws JobPostponedError where Postgres cannot be read now, JobReturnedError where the process shuts down
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
    const job: CheckJob = { id: jobId, monitorId, slot, intervalSeconds, onSlow };
    if (stalls >= MOST_STALLS) {
      logger.error('Abandoned a check after two worker crashes', { monitorId, region, jobId });
      this.#skip(job, 'crashed');
      return;
    }
    // Before anything is read: a job must end some day, whatever keeps failing.
    if (isJobTooLate(job)) {
      this.#skip(job, 'late');
      return;
    }
    const target = this.#checkable(job, await this.#read(job, revision));
    if (target === null) return;
    const skipped = this.#current.get(monitorId);
    if (skipped !== undefined) {
      this.#skip(job, skipped);
      return;
    }
    try {
      await this.#runWithPermit(target, job);
    } finally {
      this.#current.delete(monitorId);
    }
  }

  /** The monitor if this job is to check it now; null, and the reason is counted, if not. */
  #checkable(job: CheckJob, target: CheckTarget | 'unreadable' | null): CheckTarget | null {
    const { region, metrics } = this.#context;
    if (target === 'unreadable') this.#skip(job, 'unreadable');
    else if (target === null || !target.regions.includes(region))
      metrics.skipped.inc({ region, reason: 'unassigned' });
    else if (isTooLate(job.slot, target.intervalSeconds, Date.now())) this.#skip(job, 'late');
    else return target;
    return null;
  }

  /**
   * The monitor, null where it is gone, or `unreadable` where its row cannot be read, such as one whose secrets no key opens.
   * @throws JobPostponedError where Postgres is away
   */
  async #read({ monitorId }: CheckJob, revision: number): Promise<CheckTarget | 'unreadable' | null> {
    const { targets, logger, region } = this.#context;
    try {
      const target = await targets.get(monitorId, revision);
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
    this.#current.set(monitorId, capacity.isSlow(monitorId) ? 'throttled' : 'overlap');
    const permit = await capacity.acquire(target, maxWaitMs(target, job), job.onSlow);
    if (permit === 'closed') throw new JobReturnedError('the checker shuts down');
    if (permit === 'late' || permit === 'throttled') {
      this.#skip(job, permit);
      return;
    }
    this.#current.set(monitorId, 'overlap');
    try {
      const latest = permit.waitedMs > READ_AGAIN_AFTER_MS ? await this.#readAgain(target, job) : target;
      if (latest !== null) await this.#runGuarded(latest, job, permit);
    } finally {
      permit.release();
    }
  }

  /** The monitor as it is after a wait, or as it was while Postgres is unavailable; null where it is not to be checked any more. */
  async #readAgain(target: CheckTarget, job: CheckJob): Promise<CheckTarget | null> {
    // No cached target is that new, and the cache keeps what it has if Postgres does not answer.
    const reading = this.#read(job, Number.POSITIVE_INFINITY);
    const read = await withDeadline(reading, READ_AGAIN_WITHIN_MS, 'reading a monitor').catch(() => target);
    return this.#checkable(job, read);
  }

  async #runGuarded(target: CheckTarget, job: CheckJob, permit: Permit): Promise<void> {
    const unlock = await this.#lock(target, job.id);
    if (unlock === null) {
      this.#skip(job, 'overlap');
      return;
    }
    try {
      const { region, metrics } = this.#context;
      const { monitorId, slot } = job;
      metrics.lagSeconds.observe({ region }, Math.max(0, Date.now() - slot) / 1_000);
      const request = { region, source: 'schedule', slot, triggerId: null, urlOverride: null } as const;
      permit.begin();
      const outcome = await runCheck(this.#context, target, request, permit.probed);
      if (outcome.kind === 'recorded') this.#missed.recorded(monitorId, slot, outcome.gap);
    } catch (error) {
      if (!(error instanceof ProbeThrottledError)) throw error;
      this.#skip(job, 'throttled');
    } finally {
      // Not awaited: a store that hangs must not hold this worker's slot, and the guard ends by itself.
      unlock().catch(() => undefined);
    }
  }

  /** Null where another process checks the monitor. A store that does not answer keeps no check from running. */
  async #lock(target: CheckTarget, jobId: string): Promise<ReleaseLock | null> {
    if (!mayOverlap(target.intervalSeconds, target.timeoutSeconds)) return noLock;
    const forMs = target.timeoutSeconds * 1_000 + GUARD_GRACE_MS;
    const { overlapGuard, region } = this.#context;
    const lock = { region, monitorId: target.monitorId, jobId, forMs };
    return overlapGuard.acquire(lock, LOCK_WITHIN_MS).catch(() => noLock);
  }

  #skip({ id, monitorId, slot }: CheckJob, reason: Exclude<MissReason, 'no_job'>): void {
    if (isPlannedSlot(id)) this.#missed.skip(monitorId, slot, reason);
    else this.#context.metrics.skipped.inc({ region: this.#context.region, reason });
  }
}

/** Where only the monitor says its interval: too late for every interval. */
function isJobTooLate({ slot, intervalSeconds }: CheckJob): boolean {
  return isTooLate(slot, intervalSeconds ?? LIMITS.intervalSeconds.max, Date.now());
}

/** How long a check may wait for a permit: until it would be too late, and never longer than the maximum lateness of any check. */
function maxWaitMs({ intervalSeconds }: CheckTarget, { slot }: CheckJob): number {
  return Math.min(slot + intervalSeconds * 1_000 + GRACE_MS - Date.now(), MOST_LATE_MS);
}
