import { JOBS } from '@tocsin/contracts/jobs';
import { MAX_CLOCK_OFFSET_MS, parseWaveId, type Wave, waveId } from '@tocsin/core/schedule/slots';
import { withDeadline } from './deadline.ts';
import { FORGET_FINISHED, type Producers } from './producers.ts';
import type { StoredQueue } from './queue-store.ts';

const BATCH = 500;
/** For one batch; a store that takes longer is away, and the reconciler tries again. */
const BATCH_DEADLINE_MS = 10_000;
/** A planned run this far in the past whose job does not exist was lost. */
const LOST_AFTER_MS = 3_000;
/** Asking for the state of a job searches lists: of more overdue ones than this, all jobs are listed once instead. */
const MOST_ASKED = 20;
/** Where a job that is not lost may be. */
const LIVE_STATES = ['active', 'waiting', 'delayed', 'prioritized'] as const;

/** What the store holds that differs from what is wanted. */
export interface ScheduleAudit {
  readonly missing: readonly string[];
  /** Listed, but the job of their next run is gone: such a chain ends silently. */
  readonly lost: readonly string[];
  /** Their next run is later than it can be: who planned it had a clock that was fast. */
  readonly ahead: readonly string[];
  readonly stray: readonly string[];
}

/** The job schedulers of one region's check queue: one per wave (design §4 "Schedules", ADR 11). */
export class RegionSchedules {
  readonly #queue: StoredQueue;

  constructor(producers: Producers, region: string) {
    this.#queue = producers.queue('check', region);
  }

  /**
   * Puts in what is not there yet. What is there is left alone: replacing a scheduler whose run is just due would leave that
   * run out, for every monitor of the wave.
   * @returns how many were put in
   */
  async ensure(waves: readonly Wave[]): Promise<number> {
    const missing: Wave[] = [];
    await inBatches(waves, async (wave) => {
      if (!(await this.#queue.getJobScheduler(waveId(wave)))) missing.push(wave);
    });
    await this.apply(missing);
    return missing.length;
  }

  /** Puts schedulers in, or starts those anew whose chain of jobs is broken; phases are kept. */
  async apply(waves: readonly Wave[]): Promise<void> {
    await inBatches(waves, async (wave) => {
      await this.#queue.upsertJobScheduler(
        waveId(wave),
        { every: wave.intervalSeconds * 1_000, offset: wave.phaseMs },
        { name: JOBS.check.job, data: JOBS.check.payload.parse(wave), opts: FORGET_FINISHED },
      );
    });
  }

  /** @param ids of schedulers, whoever made them */
  async remove(ids: readonly string[]): Promise<void> {
    await inBatches(ids, (id) => this.#queue.removeJobScheduler(id));
  }

  /** Begins these anew from now on, wherever they were. */
  async restart(waves: readonly Wave[]): Promise<void> {
    await this.remove(waves.map(waveId));
    await this.apply(waves);
  }

  /**
   * Compares the store with the waves that are wanted in this region, by their ids.
   * @param now the true time, epoch milliseconds
   */
  async audit(wanted: ReadonlySet<string>, now: number = Date.now()): Promise<ScheduleAudit> {
    const nextRuns = await this.#nextRuns();
    const ours = [...nextRuns].filter(([id]) => wanted.has(id));
    return {
      missing: [...wanted].filter((id) => !nextRuns.has(id)),
      lost: await this.#withoutJob(ours.filter(([, next]) => next < now - LOST_AFTER_MS)),
      ahead: ours.filter((run) => isAhead(run, now)).map(([id]) => id),
      stray: [...nextRuns.keys()].filter((id) => !wanted.has(id)),
    };
  }

  /** Every scheduler's next run, epoch milliseconds. */
  async #nextRuns(): Promise<Map<string, number>> {
    const flat = await withDeadline(
      this.#queue.backend.getJobSchedulersRange(0, -1, true),
      BATCH_DEADLINE_MS,
      'listing the schedules',
    );
    const runs = new Map<string, number>();
    for (let index = 0; index + 1 < flat.length; index += 2) {
      runs.set(flat[index] ?? '', Number(flat[index + 1]));
    }
    return runs;
  }

  /** Those of the overdue whose job exists in no state: not waiting in a backlog, not running, gone. */
  async #withoutJob(overdue: readonly (readonly [string, number])[]): Promise<string[]> {
    const jobs = overdue.map(([id, next]) => ({ id, jobId: `repeat:${id}:${next}` }));
    const suspects = jobs.length <= MOST_ASKED ? jobs : await this.#unlisted(jobs);
    const lost: string[] = [];
    await inBatches(suspects, async ({ id, jobId }) => {
      if ((await this.#queue.getJobState(jobId)) === 'unknown') lost.push(id);
    });
    return lost;
  }

  /** A backlog makes many schedules overdue, and searching it for each would be what keeps it from shrinking. */
  async #unlisted<Run extends { jobId: string }>(runs: readonly Run[]): Promise<Run[]> {
    const listing = this.#queue.getRanges([...LIVE_STATES], 0, -1);
    const listed = new Set(await withDeadline(listing, BATCH_DEADLINE_MS, 'listing the jobs'));
    return runs.filter(({ jobId }) => !listed.has(jobId));
  }
}

/** @param run a scheduler and its next run */
function isAhead([id, next]: readonly [string, number], now: number): boolean {
  const wave = parseWaveId(id);
  return wave !== null && next > now + wave.intervalSeconds * 1_000 + MAX_CLOCK_OFFSET_MS;
}

async function inBatches<Item>(items: readonly Item[], run: (item: Item) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < items.length; start += BATCH) {
    const batch = Promise.all(items.slice(start, start + BATCH).map(run));
    await withDeadline(batch, BATCH_DEADLINE_MS, 'changing the schedules');
  }
}
