import type { SingleCheck } from '@tocsin/contracts/jobs';
import { GRACE_MS, isTooLate, mayOverlap, MOST_LATE_MS } from '@tocsin/core/schedule/lateness';
import { isPlannedSlot, slotOfJob } from '@tocsin/core/schedule/slot';
import type { CheckTarget } from '@tocsin/db/monitors/load-check-targets';
import { UnreadableMonitorError } from '@tocsin/db/monitors/monitor-columns';
import { JobPostponedError, JobReturnedError } from '@tocsin/queue/job-worker';
import type { Leave, OverlapGuard } from '@tocsin/queue/overlap-guard';
import type { Logger } from '@tocsin/runtime/logger';
import type { MissReason } from '../metrics.ts';
import { ExpiringMap } from '../targets/expiring-map.ts';
import type { CheckCapacity, Place } from './check-capacity.ts';
import { runCheck, type CheckContext } from './check-runner.ts';
import { MissedSlots } from './missed-slots.ts';
import type { CheckTrace } from './trace-check.ts';

/** The scheduled checks of one region. */
export interface ScheduledCheckContext extends CheckContext {
  readonly region: string;
  readonly capacity: CheckCapacity;
  readonly overlapGuard: OverlapGuard;
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
  readonly trace: CheckTrace | undefined;
}

/** How much longer than its timeout a check may hold the guard before it counts as gone with its process. */
const GUARD_GRACE_MS = 5_000;
/** A store that takes longer is away; the check runs without the guard, and its slot still counts once. */
const ENTER_WITHIN_MS = 1_000;

/** A check that is under way so often when its process dies may be what kills it: it is not run again. */
const MOST_STALLS = 2;

/** A monitor that cannot be read is logged this often. */
const LOG_UNREADABLE_EVERY_MS = 10 * 60_000;

const nothingToLeave: Leave = async () => undefined;

/** Runs the scheduled checks of one region (design §4 "Slot"). */
export class ScheduledChecks {
  readonly #context: ScheduledCheckContext;
  readonly #missed: MissedSlots;
  /** Monitors whose check waits for a place, or runs. */
  readonly #current = new Map<string, 'waiting' | 'running'>();
  readonly #unreadable = new ExpiringMap<string, true>();

  constructor(context: ScheduledCheckContext) {
    this.#context = context;
    this.#missed = new MissedSlots(context.region, context.metrics.missed);
  }

  /**
   * Runs one check of a job: at most one of a monitor at a time, and none that is too late to be of use.
   * @param intervalSeconds of the wave; null for a single check
   * @param stalls how often a checker died, or hung, while it ran this job
   * @throws JobPostponedError where Postgres cannot be read now, JobReturnedError where the process shuts down
   */
  async run(
    { monitorId, revision }: SingleCheck,
    jobId: string,
    intervalSeconds: number | null,
    stalls = 0,
    trace?: CheckTrace,
  ): Promise<void> {
    const { region, metrics, logger } = this.#context;
    const slot = slotOfJob(jobId);
    if (slot === null) throw new TypeError(`job id "${jobId}" names no slot`);
    const job: CheckJob = { id: jobId, monitorId, slot, intervalSeconds, trace };
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
    const target = await this.#read(job, revision);
    if (target === 'unreadable') {
      this.#skip(job, 'unreadable');
      return;
    }
    if (target === null || !target.regions.includes(region)) {
      metrics.skipped.inc({ region, reason: 'unassigned' });
      return;
    }
    if (isTooLate(slot, target.intervalSeconds, Date.now())) {
      this.#skip(job, 'late');
      return;
    }
    const current = this.#current.get(monitorId);
    if (current !== undefined) {
      this.#skip(job, current === 'waiting' ? 'throttled' : 'overlap');
      return;
    }
    this.#current.set(monitorId, 'waiting');
    try {
      await this.#runWithCapacity(target, job);
    } finally {
      this.#current.delete(monitorId);
    }
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

  async #runWithCapacity(target: CheckTarget, job: CheckJob): Promise<void> {
    const { capacity } = this.#context;
    const { intervalSeconds, monitorId } = target;
    const place = await capacity.acquire(target, job.slot + intervalSeconds * 1_000 + GRACE_MS - Date.now());
    if (place === null) {
      if (capacity.isClosed) throw new JobReturnedError('the checker shuts down');
      this.#skip(job, 'throttled');
      return;
    }
    this.#current.set(monitorId, 'running');
    try {
      await this.#runGuarded(target, job, place);
    } finally {
      place.release();
    }
  }

  async #runGuarded(target: CheckTarget, job: CheckJob, place: Place): Promise<void> {
    const leave = await this.#enter(target, job.id);
    if (leave === null) {
      this.#skip(job, 'overlap');
      return;
    }
    try {
      const { region, metrics } = this.#context;
      const { monitorId, slot } = job;
      metrics.lagSeconds.observe({ region }, Math.max(0, Date.now() - slot) / 1_000);
      const request = { region, source: 'schedule', slot, triggerId: null, urlOverride: null } as const;
      const hooks = { trace: job.trace, onProbed: place.probed };
      const outcome = await runCheck(this.#context, target, request, hooks);
      if (outcome.kind === 'recorded') this.#missed.recorded(monitorId, slot, outcome.gap);
    } finally {
      // Not awaited: a store that hangs must not hold this worker's slot, and the guard ends by itself.
      leave().catch(() => undefined);
    }
  }

  /** Null where another process checks the monitor. A store that does not answer keeps no check from running. */
  async #enter(target: CheckTarget, jobId: string): Promise<Leave | null> {
    if (!mayOverlap(target.intervalSeconds, target.timeoutSeconds)) return nothingToLeave;
    const holdMs = target.timeoutSeconds * 1_000 + GUARD_GRACE_MS;
    const { overlapGuard, region } = this.#context;
    const entering = overlapGuard.enter(region, target.monitorId, jobId, holdMs, ENTER_WITHIN_MS);
    return entering.catch(() => nothingToLeave);
  }

  #skip({ id, monitorId, slot }: CheckJob, reason: Exclude<MissReason, 'no_job'>): void {
    if (isPlannedSlot(id)) this.#missed.skip(monitorId, slot, reason);
    else this.#context.metrics.skipped.inc({ region: this.#context.region, reason });
  }
}

/** Where only the monitor says its interval: later than a check of any interval may be. */
function isJobTooLate({ slot, intervalSeconds }: CheckJob): boolean {
  return intervalSeconds === null
    ? Date.now() - slot > MOST_LATE_MS
    : isTooLate(slot, intervalSeconds, Date.now());
}
