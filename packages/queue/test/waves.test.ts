import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { slotOfJob, type Wave, waveId } from '@tocsin/core/schedule/slots';
import { until } from '@tocsin/embedded/testing/until';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { distantWave, openTestStore, type TestStore } from './stores.ts';

const REGION = 'eu-west-1';
const DAY_MS = 86_400_000;

interface Seen {
  readonly wave: string;
  readonly slot: number;
  readonly at: number;
}

describe.each(['redis', 'postgres'] as const)('the waves of a region, on %s', (kind) => {
  let store: TestStore;
  let worker: JobWorker | undefined;
  let schedules: RegionSchedules;

  beforeEach(async () => {
    store = await openTestStore(kind);
    schedules = new RegionSchedules(store.producers, REGION);
    worker = undefined;
  });
  afterEach(async () => {
    await worker?.close();
    await store.close();
  });

  function startChecks(concurrency = 10, run: () => Promise<void> = async () => undefined): Seen[] {
    const seen: Seen[] = [];
    worker = startJobWorker(store.stores.forRegion(REGION), {
      kind: 'check',
      region: REGION,
      concurrency,
      process: async (payload, jobId) => {
        if ('monitorId' in payload) throw new TypeError('no wave');
        seen.push({ wave: waveId(payload), slot: slotOfJob(jobId) ?? 0, at: Date.now() });
        await run();
      },
      onFailed: () => undefined,
    });
    return seen;
  }

  /** The planned job of a wave, as it is stored. */
  async function plannedJob(wave: Wave): Promise<string> {
    const delayed = await store.producers.queue('check', REGION).getDelayed();
    const [job, ...more] = delayed.filter(({ id }) => id?.startsWith(`repeat:${waveId(wave)}:`));
    expect(more).toEqual([]);
    return job?.id ?? '';
  }

  /** Makes the planned runs of these waves due now. */
  async function promote(waves: readonly Wave[]): Promise<void> {
    for (const wave of waves) {
      await (await store.producers.queue('check', REGION).getJob(await plannedJob(wave)))?.promote();
    }
  }

  async function lose(wave: Wave): Promise<void> {
    await store.loseJob(store.producers.queue('check', REGION).name, await plannedJob(wave));
  }

  test('a wave runs repeatedly on its phase, with its slot in the job id', async () => {
    const wave = { intervalSeconds: 1, phaseMs: 351 };
    const seen = startChecks();
    expect(await schedules.ensure([wave])).toBe(1);
    await until('two runs, and a third that is planned', async () => {
      return seen.length >= 2 && (await plannedJob(wave)) !== '';
    });
    for (const run of seen) {
      expect([run.wave, run.slot % 1_000]).toEqual([waveId(wave), 351]);
      expect(run.at).toBeGreaterThanOrEqual(run.slot - 20);
    }
    expect(new Set(seen.map(({ slot }) => slot)).size).toBe(seen.length);
  });

  test('waves of the same phase or the same interval are separate', async () => {
    const waves = [
      { intervalSeconds: 1, phaseMs: 1 },
      { intervalSeconds: 2, phaseMs: 1 },
      { intervalSeconds: 1, phaseMs: 501 },
    ];
    expect(await schedules.ensure(waves)).toBe(3);
    await promote(waves);
    const seen = startChecks();
    await until('each to run', () => waves.every((wave) => seen.some((run) => run.wave === waveId(wave))));
  });

  test('ensuring adds the missing schedulers and does not touch the others', async () => {
    const [known, other] = [distantWave(), distantWave(1)];
    expect(await schedules.ensure([known])).toBe(1);
    // The job stays lost unless the scheduler is replaced.
    await lose(known);
    expect(await schedules.ensure([known, other])).toBe(1);
    expect(await plannedJob(known)).toBe('');
    expect(await plannedJob(other)).toMatch(new RegExp(`^repeat:${waveId(other)}:\\d+$`));
    expect(await schedules.ensure([known, other])).toBe(0);
  });

  test('ensuring repeatedly while runs become due loses none', async () => {
    const waves = [1, 201, 401, 601, 801].map((phaseMs) => ({ intervalSeconds: 1, phaseMs }));
    await schedules.ensure(waves);
    const seen = startChecks();
    const runsOf = (wave: Wave): Seen[] => seen.filter((run) => run.wave === waveId(wave));
    let putIn = 0;
    await until('two runs of each', async () => {
      for (let index = 0; index < 20; index += 1) putIn += await schedules.ensure(waves);
      return waves.every((wave) => runsOf(wave).length >= 2);
    });
    expect(putIn).toBe(0);
    for (const wave of waves) {
      const runs = runsOf(wave);
      for (const [index, { slot }] of runs.slice(1).entries()) {
        const before = runs[index];
        if (!before) throw new Error('no run before it');
        // A run that was late itself skips the slots that had passed by then.
        expect(slot).toBeGreaterThan(before.slot);
        expect(slot).toBeLessThanOrEqual(Math.max(before.slot, before.at) + 1_000);
      }
    }
  });

  test('applying restarts a broken chain on its phase, and does not plan intact ones twice', async () => {
    const [broken, whole] = [{ intervalSeconds: 1, phaseMs: 201 }, distantWave()];
    await schedules.apply([broken, whole]);
    const planned = await plannedJob(whole);
    await lose(broken);
    await schedules.apply([broken, whole]);
    expect(await plannedJob(whole)).toBe(planned);
    const seen = startChecks();
    await until('a run, and the next one to be planned', async () => {
      return seen.length > 0 && (await plannedJob(broken)) !== '';
    });
    expect(seen.map(({ wave, slot }) => [wave, slot % 1_000])).toEqual(seen.map(() => [waveId(broken), 201]));
  });

  test('removed schedulers do not run again, and removing unknown ones has no effect', async () => {
    const [removed, kept] = [
      { intervalSeconds: 1, phaseMs: 301 },
      { intervalSeconds: 1, phaseMs: 302 },
    ];
    await schedules.ensure([removed, kept]);
    await schedules.remove([waveId(removed), 'wave-60-1', '0197-unknown']);
    expect(await plannedJob(removed)).toBe('');
    expect((await schedules.audit(new Set([waveId(kept)]))).stray).toEqual([]);
    const seen = startChecks();
    await until('a run of the other', () => seen.length > 0);
    expect(new Set(seen.map(({ wave }) => wave))).toEqual(new Set([waveId(kept)]));
  });

  test('an audit finds missing, lost and stray schedulers, and no others', async () => {
    const [fine, missing, stray, lost] = [1, 51, 101, 151].map((phaseMs) => ({
      intervalSeconds: 1,
      phaseMs,
    }));
    if (!fine || !missing || !stray || !lost) throw new Error('four waves');
    await schedules.ensure([fine, stray, lost]);
    await lose(lost);
    const wanted = new Set([fine, missing, lost].map(waveId));
    // By then `fine` is overdue too: no worker runs. Its job waits, so it is not lost.
    expect(await schedules.audit(wanted, Date.now() + 5_000)).toEqual({
      missing: ['wave-1-51'],
      lost: ['wave-1-151'],
      ahead: [],
      stray: ['wave-1-101'],
    });
    await schedules.apply([lost]);
    await promote([lost]);
    const seen = startChecks();
    await until('the lost chain to run again', () => seen.some(({ wave }) => wave === waveId(lost)));
  });

  test('an audit finds runs that are planned too far ahead, and they restart', async () => {
    const waves = [1, 51].map((phaseMs) => ({ intervalSeconds: 60, phaseMs }));
    await schedules.ensure(waves);
    const wanted = new Set(waves.map(waveId));
    const before = Date.now() - 11_000;
    expect((await schedules.audit(wanted)).ahead).toEqual([]);
    const { ahead } = await schedules.audit(wanted, before - 60_000);
    expect(ahead.toSorted()).toEqual([...wanted].toSorted());
    await schedules.restart(waves);
    for (const wave of waves) {
      const slot = slotOfJob(await plannedJob(wave)) ?? 0;
      expect(slot % 60_000).toBe(wave.phaseMs);
      expect(slot - Date.now()).toBeLessThanOrEqual(60_000);
    }
  });

  test('an audit finds only the lost scheduler among many overdue ones', async () => {
    const due = Array.from({ length: 30 }, (_, index) => ({ intervalSeconds: 1, phaseMs: 1 + index }));
    const distant = Array.from({ length: 30 }, (_, index) => distantWave(index));
    const waves = [...due, ...distant];
    const [lost, ...others] = distant;
    if (!lost) throw new Error('waves');
    expect(await schedules.ensure(waves)).toBe(60);
    await lose(lost);
    // One is taken and holds the worker: some of the others wait, some are only due, some not even that.
    await promote(others.slice(0, 15));
    let end = (): void => undefined;
    const blocked = new Promise<void>((resolve) => (end = resolve));
    const seen = startChecks(1, () => blocked);
    const queue = store.producers.queue('check', REGION);
    const overdue = async (): Promise<number> =>
      (await queue.getJobSchedulers()).filter(({ next }) => (next ?? 0) < Date.now()).length;
    try {
      await until('the backlog', async () => seen.length === 1 && (await overdue()) >= 29);
      expect(await schedules.audit(new Set(waves.map(waveId)), Date.now() + 2 * DAY_MS)).toEqual({
        missing: [],
        lost: [waveId(lost)],
        ahead: [],
        stray: [],
      });
    } finally {
      end();
    }
  });
});
