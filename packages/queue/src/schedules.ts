import { JOBS } from '@tocsin/contracts/jobs';
import { MAX_CLOCK_OFFSET_MS, parseWaveId, type Wave, waveId } from '@tocsin/core/schedule/slots';
import { withDeadline } from '@tocsin/runtime/timeout';
import { FORGET_FINISHED, type Producers } from './producers.ts';
import type { StoredQueue } from './queue-store.ts';

const BATCH = 500;
/** A slower store counts as unavailable, and the reconciler tries again. */
const BATCH_WITHIN_MS = 10_000;
/** An overdue run without a job is lost after this time. */
const LOST_AFTER_MS = 3_000;
/** The store searches lists for the state of a job. Above this number, listing all jobs once is faster. */
const MAX_STATE_LOOKUPS = 20;
const LIVE_STATES = ['active', 'waiting', 'delayed', 'prioritized'] as const;

/** Differences between the store and the wanted waves, as scheduler ids. */
export interface ScheduleAudit {
  readonly missing: readonly string[];
  /** These waves have no job for their next run, so they would never run again. */
  readonly lost: readonly string[];
  /** The next run of these waves is too late, because a process with a fast clock planned it. */
  readonly ahead: readonly string[];
  readonly stray: readonly string[];
}

/** Job schedulers of one region. There is one for each wave (docs/adr/0011-waves.md). */
export class RegionSchedules {
  readonly #queue: StoredQueue;
  readonly #triggers: StoredQueue;

  constructor(producers: Producers, region: string) {
    this.#queue = producers.queue('check', region);
    this.#triggers = producers.queue('trigger', region);
  }

  /** Adds the missing schedulers and returns their number. Keeps the others, because replacing one would skip a run that is due. */
  async ensure(waves: readonly Wave[]): Promise<number> {
    const missing: Wave[] = [];
    await inBatches(waves, async (wave) => {
      if (!(await this.#queue.getJobScheduler(waveId(wave)))) missing.push(wave);
    });
    await this.apply(missing);
    return missing.length;
  }

  /** Adds schedulers, or plans the lost next run of existing ones. */
  async apply(waves: readonly Wave[]): Promise<void> {
    await inBatches(waves, async (wave) => {
      await this.#queue.upsertJobScheduler(
        waveId(wave),
        { every: wave.intervalSeconds * 1_000, offset: wave.offsetMs },
        {
          name: JOBS.check.job,
          data: { intervalSeconds: wave.intervalSeconds, phaseMs: wave.offsetMs },
          opts: FORGET_FINISHED,
        },
      );
    });
  }

  async remove(ids: readonly string[]): Promise<void> {
    await inBatches(ids, (id) => this.#queue.removeJobScheduler(id));
  }

  async restart(waves: readonly Wave[]): Promise<void> {
    await this.remove(waves.map(waveId));
    await this.apply(waves);
  }

  /** Compares the store with the wanted waves. @param now the true time, epoch milliseconds */
  async audit(wanted: ReadonlySet<string>, now: number = Date.now()): Promise<ScheduleAudit> {
    await withDeadline(this.#resume(), BATCH_WITHIN_MS, 'resuming the queues');
    const nextRuns = await this.#nextRuns();
    const ours = [...nextRuns].filter(([id]) => wanted.has(id));
    return {
      missing: [...wanted].filter((id) => !nextRuns.has(id)),
      lost: await this.#withoutJob(ours.filter(([, next]) => next < now - LOST_AFTER_MS)),
      ahead: ours.filter((run) => isAhead(run, now)).map(([id]) => id),
      stray: [...nextRuns.keys()].filter((id) => !wanted.has(id)),
    };
  }

  /** An interrupted `removeRegion` leaves queues paused. */
  async #resume(): Promise<void> {
    for (const queue of [this.#queue, this.#triggers]) if (await queue.isPaused()) await queue.resume();
  }

  async #nextRuns(): Promise<Map<string, number>> {
    const listing = this.#queue.backend.getJobSchedulersRange(0, -1, true);
    const flat = await withDeadline(listing, BATCH_WITHIN_MS, 'listing the schedules');
    const runs = new Map<string, number>();
    for (let index = 0; index + 1 < flat.length; index += 2)
      runs.set(flat[index] ?? '', Number(flat[index + 1]));
    return runs;
  }

  async #withoutJob(overdue: readonly (readonly [string, number])[]): Promise<string[]> {
    const jobs = overdue.map(([id, next]) => ({ id, jobId: `repeat:${id}:${next}` }));
    const candidates = jobs.length <= MAX_STATE_LOOKUPS ? jobs : await this.#unlisted(jobs);
    const lost: string[] = [];
    await inBatches(candidates, async ({ id, jobId }) => {
      if ((await this.#queue.getJobState(jobId)) === 'unknown') lost.push(id);
    });
    return lost;
  }

  /** A backlog makes many schedulers overdue, and searching it for each one would be slow. */
  async #unlisted<Run extends { jobId: string }>(runs: readonly Run[]): Promise<Run[]> {
    const listing = this.#queue.getRanges([...LIVE_STATES], 0, -1);
    const listed = new Set(await withDeadline(listing, BATCH_WITHIN_MS, 'listing the jobs'));
    return runs.filter(({ jobId }) => !listed.has(jobId));
  }
}

function isAhead([id, next]: readonly [string, number], now: number): boolean {
  const wave = parseWaveId(id);
  return wave !== null && next > now + wave.intervalSeconds * 1_000 + MAX_CLOCK_OFFSET_MS;
}

async function inBatches<Item>(items: readonly Item[], run: (item: Item) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < items.length; start += BATCH) {
    const batch = Promise.all(items.slice(start, start + BATCH).map(run));
    await withDeadline(batch, BATCH_WITHIN_MS, 'changing the schedules');
  }
}
