import type { JobPayload } from '@tocsin/contracts/jobs';
import { isTooLate, mayOverlap } from '@tocsin/core/schedule/lateness';
import { slotOfJob } from '@tocsin/core/schedule/slot';
import type { CheckTarget } from '@tocsin/db/monitors/load-check-targets';
import { withDeadline } from '@tocsin/queue/deadline';
import { JobPostponedError } from '@tocsin/queue/job-worker';
import type { Leave, OverlapGuard } from '@tocsin/queue/overlap-guard';
import type { SkipReason } from '../metrics.ts';
import { runCheck, type CheckContext } from './check-runner.ts';

/** The scheduled checks of one region. */
export interface ScheduledCheckContext extends CheckContext {
  readonly region: string;
  readonly overlapGuard: OverlapGuard;
  /** Takes the schedule of a monitor that is not of this region, or gone, out of the store; in the background. */
  readonly removeSchedule: (monitorId: string) => void;
}

/** How much longer than its timeout a check may hold the guard before it counts as gone with its process. */
const GUARD_GRACE_MS = 5_000;
/** A store that takes longer is away; the check runs without the guard, and its slot still counts once. */
const ENTER_WITHIN_MS = 1_000;

const nothingToLeave: Leave = async () => undefined;

/** Runs the jobs of one region's check queue (design §4 "Slot"). */
export class ScheduledChecks {
  readonly #context: ScheduledCheckContext;
  readonly #running = new Set<string>();

  constructor(context: ScheduledCheckContext) {
    this.#context = context;
  }

  /** Runs one job: at most one check of a monitor at a time, and none that is too late to be of use. */
  async run(payload: JobPayload<'check'>, jobId: string): Promise<void> {
    const { region, targets, metrics } = this.#context;
    const slot = slotOfJob(jobId);
    if (slot === null) throw new TypeError(`job id "${jobId}" names no slot`);
    const target = await targets.get(payload.monitorId, payload.revision).catch((error: unknown) => {
      // Postgres is away: the slot is not lost before it is too late.
      throw new JobPostponedError('the monitor could not be read', { cause: error });
    });
    if (target === null || !target.regions.includes(region)) {
      this.#skip('unassigned');
      this.#context.removeSchedule(payload.monitorId);
      return;
    }
    const now = Date.now();
    if (isTooLate(slot, target.intervalSeconds, now)) {
      this.#skip('late');
      return;
    }
    metrics.lagSeconds.observe({ region }, Math.max(0, now - slot) / 1_000);
    if (this.#running.has(target.monitorId)) {
      this.#skip('overlap');
      return;
    }
    this.#running.add(target.monitorId);
    try {
      await this.#runGuarded(target, slot, jobId);
    } finally {
      this.#running.delete(target.monitorId);
    }
  }

  async #runGuarded(target: CheckTarget, slot: number, jobId: string): Promise<void> {
    const leave = await this.#enter(target, jobId);
    if (leave === null) {
      this.#skip('overlap');
      return;
    }
    try {
      const { region } = this.#context;
      await runCheck(this.#context, target, {
        region,
        source: 'schedule',
        slot,
        triggerId: null,
        urlOverride: null,
      });
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
    const entering = overlapGuard.enter(region, target.monitorId, jobId, holdMs);
    return withDeadline(entering, ENTER_WITHIN_MS, 'entering a check').catch(() => nothingToLeave);
  }

  #skip(reason: SkipReason): void {
    this.#context.metrics.skipped.inc({ region: this.#context.region, reason });
  }
}
