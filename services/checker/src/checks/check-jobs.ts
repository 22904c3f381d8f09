import type { JobPayload, SingleCheck } from '@tocsin/contracts/jobs';
import { isTooLate, slotOfJob, waveId, type Wave } from '@tocsin/core/schedule/slots';
import type { WaveMember } from '@tocsin/db/monitor-regions/schedules';
import {
  JobPostponedError,
  JobReturnedError,
  type JobHistory,
  type JobWorker,
} from '@tocsin/queue/job-worker';
import { withDeadline } from '@tocsin/runtime/timeout';
import { ExpiringMap, keepForInterval } from '../targets/expiring-map.ts';

/** A slower Postgres counts as unavailable. */
const MEMBERS_WITHIN_MS = 2_000;
/** Maximum partly done jobs to remember. Beyond this, all members of a job may be checked twice. */
const MAX_UNFINISHED_JOBS = 1_000;

type RunCheck = (
  check: SingleCheck,
  jobId: string,
  intervalSeconds: number | null,
  stalls: number,
  onSlow: () => void,
) => Promise<void>;

export interface CheckJobsOptions {
  readonly runCheck: RunCheck;
  /** Lists the monitors that a wave checks now (see `listWaveMembers`). */
  readonly listMembers: (wave: Wave, unrecordedSlot?: number) => Promise<WaveMember[]>;
  readonly membersWithinMs?: number;
  /** Adds a retry for each member whose last result is an unconfirmed failure of this slot (epoch milliseconds). */
  readonly addRetries: (wave: Wave, slot: number) => Promise<void>;
  readonly now?: () => number;
  /** Called if a check could not run through no fault of its target. */
  readonly onFailed: (check: SingleCheck, jobId: string, error: unknown) => void;
}

/** Runs the jobs of a region, which are waves and first checks of single monitors (docs/adr/0011-waves.md). */
export class CheckJobs {
  readonly #options: CheckJobsOptions;
  /** Last known members of each wave. An empty wave gets no more jobs, so its entry expires. */
  readonly #members: ExpiringMap<string, readonly WaveMember[]>;
  /** Finished monitors of each job that runs again. */
  readonly #done = new Map<string, ReadonlySet<string>>();

  constructor(options: CheckJobsOptions) {
    this.#options = options;
    this.#members = new ExpiringMap(options.now);
  }

  get waves(): number {
    return this.#members.size;
  }

  /**
   * Runs the checks of a job.
   * @param worker takes more jobs while the rest of this one only waits
   * @throws JobReturnedError or JobPostponedError to run some checks again
   */
  async run(
    payload: JobPayload<'check'>,
    jobId: string,
    { stalls, again }: JobHistory,
    worker: Pick<JobWorker, 'exempt' | 'noteProgress'>,
  ): Promise<void> {
    const { runCheck, onFailed } = this.#options;
    const isSingle = 'monitorId' in payload;
    const all = isSingle ? [payload] : await this.#membersOf(payload, jobId, again);
    const intervalSeconds = isSingle ? null : payload.intervalSeconds;
    const done = new Set(this.#done.get(jobId));
    const checks = all.filter(({ monitorId }) => !done.has(monitorId));
    const active = new Set(checks);
    let unfinished = checks.length;
    let includeAgain: (() => void) | undefined;
    let rerun: Error | null = null;
    const deactivate = (check: SingleCheck): void => {
      active.delete(check);
      if (active.size === 0 && unfinished > 0) includeAgain ??= worker.exempt();
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
        worker.noteProgress();
      }
    };
    const addingRetries = isSingle || stalls === 0 ? null : this.#addLostRetries(payload, jobId);
    await Promise.all(checks.map(run));
    includeAgain?.();
    rerun ??= await addingRetries;
    this.#done.delete(jobId);
    if (rerun === null) return;
    this.#done.set(jobId, done);
    const [oldest] = this.#done.keys();
    if (this.#done.size > MAX_UNFINISHED_JOBS && oldest !== undefined) this.#done.delete(oldest);
    throw rerun;
  }

  /** A dead checker may have recorded failures without adding their retries. @returns null, or an error if the job must run again */
  async #addLostRetries(wave: Wave, jobId: string): Promise<Error | null> {
    const slot = slotOfJob(jobId);
    // By then the next slot is due, which is as good as a retry.
    if (slot === null || isTooLate(slot, wave.intervalSeconds, Date.now())) return null;
    try {
      await this.#options.addRetries(wave, slot);
      return null;
    } catch (cause) {
      return new JobPostponedError('the retries of a wave could not be added', { cause });
    }
  }

  /** Lists the monitors to check. For a late slot, which is only counted as skipped, the known members are enough. */
  async #membersOf(wave: Wave, jobId: string, again: boolean): Promise<readonly WaveMember[]> {
    const { listMembers, membersWithinMs = MEMBERS_WITHIN_MS } = this.#options;
    const id = waveId(wave);
    const known = this.#members.get(id);
    const slot = slotOfJob(jobId);
    const isLate = slot !== null && isTooLate(slot, wave.intervalSeconds, Date.now());
    const isRerun = slot !== null && again;
    // After an overload, many slots are late, and must not take resources from due ones.
    if (isLate && !isRerun) return known ?? [];
    try {
      // A repeated check of a recorded slot would be dropped, and could block the next slot.
      const listing = listMembers(wave, isRerun ? slot : undefined);
      const members = await withDeadline(listing, membersWithinMs, 'listing the monitors of a wave');
      if (isRerun) return members;
      if (members.length > 0) this.#members.set(id, members, keepForInterval(wave.intervalSeconds));
      else this.#members.delete(id);
      return members;
    } catch (cause) {
      // The known members can be checked, because results wait in the recorder. A late slot shows as a gap before the next one.
      if (!isRerun && known) return known;
      if (isRerun && isLate) return [];
      throw new JobPostponedError('the monitors of a wave could not be listed', { cause });
    }
  }
}
