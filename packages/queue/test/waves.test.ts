import { expect, test } from '@jest/globals';
import { slotOfJob, type Wave, waveId } from '@tocsin/core/schedule/slots';
import { until } from '@tocsin/embedded/testing/until';
import { distantWave, onBothStores } from './stores.ts';

const DAY_MS = 86_400_000;

onBothStores('the waves of a region', (queue) => {
  test('ensuring adds the missing schedulers and does not touch the others', async () => {
    const [known, other] = [distantWave(), distantWave(1)];
    expect(await queue.schedules.ensure([known])).toBe(1);
    // The job stays lost unless the scheduler is replaced.
    await queue.lose(known);
    expect(await queue.schedules.ensure([known, other])).toBe(1);
    expect(await queue.plannedJob(known)).toBe('');
    expect(await queue.plannedJob(other)).toMatch(new RegExp(`^repeat:${waveId(other)}:\\d+$`));
    expect(await queue.schedules.ensure([known, other])).toBe(0);
  });

  test('applying restarts a broken chain, and does not plan intact ones twice', async () => {
    const [broken, intact] = [distantWave(), distantWave(1)];
    await queue.schedules.apply([broken, intact]);
    const planned = await queue.plannedJob(intact);
    await queue.lose(broken);
    await queue.schedules.apply([broken, intact]);
    expect(await queue.plannedJob(intact)).toBe(planned);
    expect((slotOfJob(await queue.plannedJob(broken)) ?? 0) % DAY_MS).toBe(broken.offsetMs);
  });

  test('removed schedulers have no planned run, and removing unknown ones has no effect', async () => {
    const [removed, kept] = [distantWave(), distantWave(1)];
    await queue.schedules.ensure([removed, kept]);
    await queue.schedules.remove([waveId(removed), 'wave-60-1', '0197-unknown']);
    expect(await queue.plannedJob(removed)).toBe('');
    expect(await queue.plannedJob(kept)).not.toBe('');
    expect((await queue.schedules.audit(new Set([waveId(kept)]))).stray).toEqual([]);
  });

  test('an audit finds missing, lost and stray schedulers, and no others', async () => {
    const [fine, stray, lost, missing] = [0, 1, 2, 3].map(distantWave) as [Wave, Wave, Wave, Wave];
    await queue.schedules.ensure([fine, stray, lost]);
    await queue.lose(lost);
    const wanted = new Set([fine, missing, lost].map(waveId));
    // Because no worker runs, `fine` is overdue too by then. Its job exists, so it is not lost.
    expect(await queue.schedules.audit(wanted, Date.now() + 2 * DAY_MS)).toEqual({
      missing: [waveId(missing)],
      lost: [waveId(lost)],
      ahead: [],
      stray: [waveId(stray)],
    });
    await queue.schedules.apply([lost]);
    await queue.promote([lost]);
    const runs = queue.startWaves();
    await until('the lost chain to run again', () => runs.some(({ wave }) => wave === waveId(lost)));
  });

  test('an audit finds runs that are planned too far ahead, and they restart', async () => {
    const early = [1, 51].map((offsetMs) => ({ intervalSeconds: 60, offsetMs }));
    await queue.schedules.ensure(early);
    const wanted = new Set(early.map(waveId));
    const before = Date.now() - 11_000;
    expect((await queue.schedules.audit(wanted)).ahead).toEqual([]);
    const { ahead } = await queue.schedules.audit(wanted, before - 60_000);
    expect(ahead.toSorted()).toEqual([...wanted].toSorted());
    await queue.schedules.restart(early);
    for (const wave of early) {
      const slot = slotOfJob(await queue.plannedJob(wave)) ?? 0;
      expect(slot % 60_000).toBe(wave.offsetMs);
      expect(slot - Date.now()).toBeLessThanOrEqual(60_000);
    }
  });

  test('an audit finds only the lost scheduler among many overdue ones', async () => {
    const many = Array.from({ length: 30 }, (_, index) => distantWave(index));
    const [lost, ...others] = many as [Wave, ...Wave[]];
    expect(await queue.schedules.ensure(many)).toBe(30);
    await queue.lose(lost);
    // The worker runs one of them and holds it. Some of the others wait, and some are not due yet.
    await queue.promote(others.slice(0, 15));
    queue.startHolding({ concurrency: 1 });
    await until('one to run', () => queue.running.size === 1);
    expect(await queue.schedules.audit(new Set(many.map(waveId)), Date.now() + 2 * DAY_MS)).toEqual({
      missing: [],
      lost: [waveId(lost)],
      ahead: [],
      stray: [],
    });
  });
});
