import type { JobPayload, SingleCheck } from '@tocsin/contracts/jobs';
import { isTooLate, slotOfJob, waveId, type Wave } from '@tocsin/core/schedule/slots';
import type { WaveMember } from '@tocsin/db/monitor-regions/schedules';
import { JobPostponedError, JobReturnedError, type JobHistory } from '@tocsin/queue/job-worker';
import { withDeadline } from '@tocsin/runtime/timeout';
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
  readonly membersWithinMs?: number;
  /** Adds the retries of the members whose last result is for this slot, in epoch milliseconds, and is an unconfirmed failure. */
  readonly addRetries: (wave: Wave, slot: number) => Promise<void>;
  readonly now?: () => number;
  /** Called when all remaining checks of a job only wait. It returns a function to call when the job ends. Default: nothing. */
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

  get waves(): number {
    return this.#members.size;
  }

  /** Runs the checks of a job. @throws JobReturnedError or JobPostponedError if some of them must run again */
  async run(payload: JobPayload<'check'>, jobId: string, { stalls, again }: JobHistory): Promise<void> {
    const { runCheck, onWaiting, onFailed } = this.#options;
    const isSingle = 'monitorId' in payload;
    const all = isSingle ? [payload] : await this.#membersOf(payload, jobId, again);
    const intervalSeconds = isSingle ? null : payload.intervalSeconds;
    const done = new Set(this.#done.get(jobId));
    const checks = all.filter(({ monitorId }) => !done.has(monitorId));
    const active = new Set(checks);
    let unfinished = checks.length;
    let stopWaiting: (() => void) | undefined;
    let rerun: Error | null = null;
    const deactivate = (check: SingleCheck): void => {
      active.delete(check);
      if (active.size === 0 && unfinished > 0) stopWaiting ??= onWaiting?.();
    };
    const run = async (check: SingleCheck): Promise<void> => {
      try {
        await runCheck(check, jobId, intervalSeconds, stalls, () => deactivate(check));
        done.add(check.monitorId);
      } catch (error) {
        if (error instanceof JobReturnedError || error instanceof JobPostponedError) rerun ??= error;
        else {
          done.add(check.monitorId);
          onFailed(check, jobId, error);
        }
      } finally {
        unfinished -= 1;
        deactivate(check);
      }
    };
    const addingRetries = isSingle || stalls === 0 ? null : this.#addLostRetries(payload, jobId);
    await Promise.all(checks.map(run));
    stopWaiting?.();
    rerun ??= await addingRetries;
    this.#done.delete(jobId);
    if (rerun === null) return;
    this.#done.set(jobId, done);
    const [oldest] = this.#done.keys();
    if (this.#done.size > MAX_UNFINISHED_JOBS && oldest !== undefined) this.#done.delete(oldest);
    throw rerun;
  }

  /**
   * A checker that died may have recorded failures without adding their retries, and recorded members are not checked again.
   * @returns null, or an error if the job must run again
   */
  async #addLostRetries(wave: Wave, jobId: string): Promise<Error | null> {
    const slot = slotOfJob(jobId);
    // The next slot is as early as a retry.
    if (slot === null || isTooLate(slot, wave.intervalSeconds, Date.now())) return null;
    try {
      await this.#options.addRetries(wave, slot);
      return null;
    } catch (cause) {
      return new JobPostponedError('the retries of a wave could not be added', { cause });
    }
  }

  /** The monitors to check. Members of a slot that is too late are skipped and counted, for which the known members are enough. */
  async #membersOf(wave: Wave, jobId: string, again: boolean): Promise<readonly WaveMember[]> {
    const { listMembers, membersWithinMs = MEMBERS_WITHIN_MS } = this.#options;
    const id = waveId(wave);
    const known = this.#members.get(id);
    const slot = slotOfJob(jobId);
    const isLate = slot !== null && isTooLate(slot, wave.intervalSeconds, Date.now());
    const isRerun = slot !== null && again;
    // After an overload there are many such slots, and they must not take the resources of those that are due.
    if (isLate && !isRerun) return known ?? [];
    try {
      // A second check of monitors with a result would be dropped, and could keep the check of their next slot from running.
      const listing = listMembers(wave, isRerun ? slot : undefined);
      const members = await withDeadline(listing, membersWithinMs, 'listing the monitors of a wave');
      if (isRerun) return members;
      if (members.length > 0) this.#members.set(id, members, keepForInterval(wave.intervalSeconds));
      else this.#members.delete(id);
      return members;
    } catch (cause) {
      // The known members can be checked: their results wait in the recorder. A late slot shows as a gap before the next one.
      if (!isRerun && known) return known;
      if (isRerun && isLate) return [];
      throw new JobPostponedError('the monitors of a wave could not be listed', { cause });
    }
  }
}
