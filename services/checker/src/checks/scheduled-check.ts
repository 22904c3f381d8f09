import type { SingleCheck } from '@tocsin/contracts/jobs';
import { isTooLate, mayOverlap } from '@tocsin/core/schedule/lateness';
import { isPlannedSlot, slotOfJob } from '@tocsin/core/schedule/slot';
import type { CheckTarget } from '@tocsin/db/monitors/load-check-targets';
import { JobPostponedError } from '@tocsin/queue/job-worker';
import type { Leave, OverlapGuard } from '@tocsin/queue/overlap-guard';
import type { Logger } from '@tocsin/runtime/logger';
import type { MissReason } from '../metrics.ts';
import { runCheck, type CheckContext } from './check-runner.ts';
import { MissedSlots } from './missed-slots.ts';
import type { CheckTrace } from './trace-check.ts';

/** The scheduled checks of one region. */
export interface ScheduledCheckContext extends CheckContext {
  readonly region: string;
  readonly overlapGuard: OverlapGuard;
  readonly logger: Logger;
}

/** The job of one planned check. */
interface CheckJob {
  readonly id: string;
  readonly monitorId: string;
  /** Epoch milliseconds. */
  readonly slot: number;
  readonly trace: CheckTrace | undefined;
}

/** How much longer than its timeout a check may hold the guard before it counts as gone with its process. */
const GUARD_GRACE_MS = 5_000;
/** A store that takes longer is away; the check runs without the guard, and its slot still counts once. */
const ENTER_WITHIN_MS = 1_000;

/** A check that is under way so often when its process dies may be what kills it: it is not run again. */
const MOST_STALLS = 2;

const nothingToLeave: Leave = async () => undefined;

/** Runs the scheduled checks of one region (design §4 "Slot"). */
export class ScheduledChecks {
  readonly #context: ScheduledCheckContext;
  readonly #missed: MissedSlots;
  readonly #running = new Set<string>();

  constructor(context: ScheduledCheckContext) {
    this.#context = context;
    this.#missed = new MissedSlots(context.region, context.metrics.missed);
  }

  /**
   * Runs one check of a job: at most one of a monitor at a time, and none that is too late to be of use.
   * @param stalls how often a checker died, or hung, while it ran this job
   */
  async run(
    { monitorId, revision }: SingleCheck,
    jobId: string,
    stalls = 0,
    trace?: CheckTrace,
  ): Promise<void> {
    const { region, targets } = this.#context;
    const slot = slotOfJob(jobId);
    if (slot === null) throw new TypeError(`job id "${jobId}" names no slot`);
    const job: CheckJob = { id: jobId, monitorId, slot, trace };
    if (stalls >= MOST_STALLS) {
      this.#context.logger.error('A check is given up: its checker died over it', {
        monitorId,
        region,
        jobId,
      });
      this.#skip(job, 'crashed');
      return;
    }
    const target = await targets.get(monitorId, revision).catch((error: unknown) => {
      // Postgres is away: the slot is not lost before it is too late.
      throw new JobPostponedError('the monitor could not be read', { cause: error });
    });
    if (target === null || !target.regions.includes(region)) {
      this.#context.metrics.skipped.inc({ region, reason: 'unassigned' });
      return;
    }
    if (isTooLate(slot, target.intervalSeconds, Date.now())) {
      this.#skip(job, 'late');
      return;
    }
    if (this.#running.has(monitorId)) {
      this.#skip(job, 'overlap');
      return;
    }
    this.#running.add(monitorId);
    try {
      await this.#runGuarded(target, job);
    } finally {
      this.#running.delete(monitorId);
    }
  }

  async #runGuarded(target: CheckTarget, job: CheckJob): Promise<void> {
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
      const outcome = await runCheck(this.#context, target, request, job.trace);
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
