import type { JobPayload, SingleCheck } from '@tocsin/contracts/jobs';
import { isTooLate, slotOfJob, type Wave, waveId } from '@tocsin/core/schedule/slots';
import type { WaveMember } from '@tocsin/db/monitor-regions/schedules';
import { withDeadline } from '@tocsin/queue/deadline';
import { type JobHistory, JobPostponedError, JobReturnedError } from '@tocsin/queue/job-worker';
import { ExpiringMap, keepForInterval } from '../targets/expiring-map.ts';

/** Postgres is away where it takes longer to say who is in a wave. */
const MEMBERS_WITHIN_MS = 2_000;
/** Jobs of which part waits for another try; beyond that, all of one may be checked twice. */
const MOST_UNFINISHED = 1_000;

export interface CheckJobsOptions {
  /** Runs one check of a job; see `ScheduledChecks.run`. */
  readonly runCheck: (
    check: SingleCheck,
    jobId: string,
    intervalSeconds: number | null,
    stalls: number,
    onSlow: () => void,
  ) => Promise<void>;
  /** Whom a wave checks now; see `listWaveMembers`. */
  readonly listMembers: (wave: Wave, unrecordedSlot?: number) => Promise<WaveMember[]>;
  /** Default: 2 s. */
  readonly membersWithinMs?: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
  /** Called when each check of a job that still runs only waits; what it returns is called when the job ends. Default: nothing. */
  readonly onWaiting?: () => () => void;
  /** A check that failed to run, through no fault of its target. */
  readonly onFailed: (check: SingleCheck, jobId: string, error: unknown) => void;
}

/** Runs the jobs of one region's check queue: waves, and first checks of single monitors (ADR 11). */
export class CheckJobs {
  readonly #options: CheckJobsOptions;
  /** Who was in each wave when Postgres last said. Of waves that have no monitors any more no job comes to say so. */
  readonly #members: ExpiringMap<string, readonly WaveMember[]>;
  /** By job: whose check is done, or failed, where that of others must be tried again. */
  readonly #done = new Map<string, ReadonlySet<string>>();

  constructor(options: CheckJobsOptions) {
    this.#options = options;
    this.#members = new ExpiringMap(options.now);
  }

  /** How many waves it knows. */
  get waves(): number {
    return this.#members.size;
  }

  /**
   * Runs the checks of a job; it is done when each is recorded, or skipped.
   * @throws JobReturnedError, JobPostponedError where some of them must be run again
   */
  async run(payload: JobPayload<'check'>, jobId: string, { stalls, again }: JobHistory): Promise<void> {
    const all = 'monitorId' in payload ? [payload] : await this.#membersOf(payload, jobId, again);
    const done = this.#done.get(jobId);
    const checks = done === undefined ? all : all.filter(({ monitorId }) => !done.has(monitorId));
    const intervalSeconds = 'monitorId' in payload ? null : payload.intervalSeconds;
    const progress = new JobProgress(checks.length, this.#options.onWaiting);
    const results = await Promise.allSettled(
      checks.map((check) => {
        const { onSlow, onEnd } = progress.follow();
        return this.#options.runCheck(check, jobId, intervalSeconds, stalls, onSlow).finally(onEnd);
      }),
    );
    this.#settle(jobId, checks, results);
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
      if (isAgain(error)) {
        again ??= error;
        continue;
      }
      done.add(check.monitorId);
      if (result?.status === 'rejected') this.#options.onFailed(check, jobId, error);
    }
    if (again === undefined) return;
    this.#done.set(jobId, done);
    const [oldest] = this.#done.keys();
    if (this.#done.size > MOST_UNFINISHED && oldest !== undefined) this.#done.delete(oldest);
    throw again;
  }

  /**
   * Of a slot that is too late for everybody those that are known: each is skipped and counted, and nobody is asked. After an overload
   * there are many of these, and they must not cost what is missing for those that are due.
   */
  async #membersOf(wave: Wave, jobId: string, again: boolean): Promise<readonly WaveMember[]> {
    const slot = slotOfJob(jobId);
    if (slot === null) return this.#listMembers(wave);
    const late = isTooLate(slot, wave.intervalSeconds, Date.now());
    if (again) return this.#listUnrecorded(wave, slot, late);
    return late ? (this.#members.get(waveId(wave)) ?? []) : this.#listMembers(wave);
  }

  /**
   * Of a slot that runs again those of which nothing is recorded: a second check of the others would be dropped, and would keep that of
   * their next slot from running, which may be due by now. Of one that is too late they are skipped; while Postgres is away nobody is,
   * and who has a gap is seen at the next slot.
   */
  async #listUnrecorded(wave: Wave, slot: number, late: boolean): Promise<readonly WaveMember[]> {
    try {
      return await this.#ask(wave, slot);
    } catch (error) {
      if (late) return [];
      throw notListed(error);
    }
  }

  /** While Postgres is away, those of last time: their results wait in the recorder. */
  async #listMembers(wave: Wave): Promise<readonly WaveMember[]> {
    const id = waveId(wave);
    try {
      const members = await this.#ask(wave);
      if (members.length > 0) this.#members.set(id, members, keepForInterval(wave.intervalSeconds));
      else this.#members.delete(id);
      return members;
    } catch (error) {
      const known = this.#members.get(id);
      if (known) return known;
      throw notListed(error);
    }
  }

  #ask(wave: Wave, unrecordedSlot?: number): Promise<readonly WaveMember[]> {
    const { listMembers, membersWithinMs = MEMBERS_WITHIN_MS } = this.#options;
    return withDeadline(listMembers(wave, unrecordedSlot), membersWithinMs, 'listing the monitors of a wave');
  }
}

/** Notices when a job only waits: each of its checks has ended, or waits for a slow target. */
class JobProgress {
  readonly #onWaiting: () => () => void;
  #active: number;
  #unfinished: number;
  #end: (() => void) | null = null;

  constructor(checks: number, onWaiting: () => () => void = () => () => undefined) {
    this.#active = checks;
    this.#unfinished = checks;
    this.#onWaiting = onWaiting;
  }

  /** What is to be called for one of the checks. */
  follow(): { readonly onSlow: () => void; readonly onEnd: () => void } {
    let isActive = true;
    const leave = (): void => {
      if (!isActive) return;
      isActive = false;
      this.#active -= 1;
    };
    return {
      onSlow: () => {
        leave();
        this.#note();
      },
      onEnd: () => {
        leave();
        this.#unfinished -= 1;
        this.#note();
      },
    };
  }

  #note(): void {
    if (this.#unfinished === 0) this.#end?.();
    else if (this.#active === 0) this.#end ??= this.#onWaiting();
  }
}

function notListed(cause: unknown): JobPostponedError {
  return new JobPostponedError('the monitors of a wave could not be listed', { cause });
}

function isAgain(error: unknown): boolean {
  return error instanceof JobReturnedError || error instanceof JobPostponedError;
}
