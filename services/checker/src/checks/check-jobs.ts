import type { JobPayload, SingleCheck } from '@tocsin/contracts/jobs';
import { isTooLate, slotOfJob, waveId, type Wave } from '@tocsin/core/schedule/slots';
import type { WaveMember } from '@tocsin/db/monitor-regions/schedules';
import { withDeadline } from '@tocsin/queue/deadline';
import { JobPostponedError, JobReturnedError, type JobHistory } from '@tocsin/queue/job-worker';
import { ExpiringMap, keepForInterval } from '../targets/expiring-map.ts';

/** Postgres counts as unavailable if it takes longer to list the members of a wave. */
const MEMBERS_WITHIN_MS = 2_000;
/** Jobs that are partly done and run again; beyond that, all of one may be checked twice. */
const MAX_UNFINISHED_JOBS = 1_000;

/** Runs one check of a job; see `ScheduledChecks.run`. */
type RunCheck = (
  check: SingleCheck,
  jobId: string,
  intervalSeconds: number | null,
  stalls: number,
  onSlow: () => void,
) => Promise<void>;

export interface CheckJobsOptions {
  readonly runCheck: RunCheck;
  /** The monitors that a wave checks now; see `listWaveMembers`. */
  readonly listMembers: (wave: Wave, unrecordedSlot?: number) => Promise<WaveMember[]>;
  /** Default: 2 s. */
  readonly membersWithinMs?: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
  /** Called when all remaining checks of a job only wait. It returns what is called when the job ends. Default: nothing. */
  readonly onWaiting?: () => () => void;
  /** A check that failed to run, through no fault of its target. */
  readonly onFailed: (check: SingleCheck, jobId: string, error: unknown) => void;
}

/** Runs the jobs of one region's check queue: waves, and first checks of single monitors (docs/adr/0011-waves.md). */
export class CheckJobs {
  readonly #options: CheckJobsOptions;
  /** The members of each wave as Postgres listed them last. A wave without monitors gets no more jobs, so its entry expires. */
  readonly #members: ExpiringMap<string, readonly WaveMember[]>;
  /** By job that runs again: the monitors whose check is done, or failed. */
  readonly #done = new Map<string, ReadonlySet<string>>();

  constructor(options: CheckJobsOptions) {
    this.#options = options;
    this.#members = new ExpiringMap(options.now);
  }

  /** Number of waves in memory. */
  get waves(): number {
    return this.#members.size;
  }

  /**
   * Runs the checks of a job. The job is done when each check is recorded or skipped.
   * @throws JobReturnedError or JobPostponedError if some of them must run again
   */
  async run(payload: JobPayload<'check'>, jobId: string, { stalls, again }: JobHistory): Promise<void> {
    const isSingle = 'monitorId' in payload;
    const all = isSingle ? [payload] : await this.#membersOf(payload, jobId, again);
    const done = this.#done.get(jobId);
    const checks = done === undefined ? all : all.filter(({ monitorId }) => !done.has(monitorId));
    const results = await this.#runAll(checks, (check, onSlow) =>
      this.#options.runCheck(check, jobId, isSingle ? null : payload.intervalSeconds, stalls, onSlow),
    );
    this.#settle(jobId, checks, results);
  }

  /** Calls `onWaiting` when each check has ended or waits for a slow target. */
  async #runAll(
    checks: readonly SingleCheck[],
    run: (check: SingleCheck, onSlow: () => void) => Promise<void>,
  ): Promise<PromiseSettledResult<void>[]> {
    const active = new Set(checks);
    let unfinished = checks.length;
    let stopWaiting: (() => void) | undefined;
    const deactivate = (check: SingleCheck): void => {
      active.delete(check);
      if (active.size === 0 && unfinished > 0) stopWaiting ??= this.#options.onWaiting?.();
    };
    const running = checks.map((check) =>
      run(check, () => deactivate(check)).finally(() => {
        unfinished -= 1;
        deactivate(check);
      }),
    );
    const results = await Promise.allSettled(running);
    stopWaiting?.();
    return results;
  }

  #settle(
    jobId: string,
    checks: readonly SingleCheck[],
    results: readonly PromiseSettledResult<void>[],
  ): void {
    const done = new Set(this.#done.get(jobId));
    this.#done.delete(jobId);
    let again: unknown;
    for (const [index, check] of checks.entries()) {
      const result = results[index];
      const error: unknown = result?.status === 'rejected' ? result.reason : undefined;
      if (error instanceof JobReturnedError || error instanceof JobPostponedError) {
        again ??= error;
        continue;
      }
      done.add(check.monitorId);
      if (result?.status === 'rejected') this.#options.onFailed(check, jobId, error);
    }
    if (again === undefined) return;
    this.#done.set(jobId, done);
    const [oldest] = this.#done.keys();
    if (this.#done.size > MAX_UNFINISHED_JOBS && oldest !== undefined) this.#done.delete(oldest);
    throw again;
  }

  /**
   * Each member of a slot that is too late is skipped and counted. For these the known members are enough: after an overload there are
   * many such slots, and they must not take the resources of those that are due.
   */
  async #membersOf(wave: Wave, jobId: string, again: boolean): Promise<readonly WaveMember[]> {
    const slot = slotOfJob(jobId);
    const isLate = slot !== null && isTooLate(slot, wave.intervalSeconds, Date.now());
    if (slot !== null && again) return this.#listUnrecorded(wave, slot, isLate);
    return isLate ? (this.#members.get(waveId(wave)) ?? []) : this.#listMembers(wave);
  }

  /**
   * The members without a result for this slot. A second check of the others would be dropped, and would keep the check of their next
   * slot from running, which may be due by now. While Postgres is unavailable, a slot that is too late skips none: the next slot shows
   * the gaps.
   */
  async #listUnrecorded(wave: Wave, slot: number, isLate: boolean): Promise<readonly WaveMember[]> {
    try {
      return await this.#queryMembers(wave, slot);
    } catch (error) {
      if (isLate) return [];
      throw notListed(error);
    }
  }

  /** While Postgres is unavailable, the members of last time: their results wait in the recorder. */
  async #listMembers(wave: Wave): Promise<readonly WaveMember[]> {
    const id = waveId(wave);
    try {
      const members = await this.#queryMembers(wave);
      if (members.length > 0) this.#members.set(id, members, keepForInterval(wave.intervalSeconds));
      else this.#members.delete(id);
      return members;
    } catch (error) {
      const known = this.#members.get(id);
      if (known) return known;
      throw notListed(error);
    }
  }

  #queryMembers(wave: Wave, unrecordedSlot?: number): Promise<readonly WaveMember[]> {
    const { listMembers, membersWithinMs = MEMBERS_WITHIN_MS } = this.#options;
    return withDeadline(listMembers(wave, unrecordedSlot), membersWithinMs, 'listing the monitors of a wave');
  }
}

function notListed(cause: unknown): JobPostponedError {
  return new JobPostponedError('the monitors of a wave could not be listed', { cause });
}
