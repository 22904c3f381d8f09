import { expect, test } from '@jest/globals';
import { waveId } from '@tocsin/core/schedule/slots';
import { until } from '@tocsin/embedded/testing/until';
import { onBothStores } from './stores.ts';

onBothStores('waves that run every second', (queue) => {
  test('each runs at its offset, and ensuring repeatedly while runs become due loses none', async () => {
    const several = [1, 201, 401, 601, 801].map((offsetMs) => ({ intervalSeconds: 1, offsetMs }));
    expect(await queue.schedules.ensure(several)).toBe(5);
    const runs = queue.startWaves();
    const runsOf = (wave: string): typeof runs => runs.filter((run) => run.wave === wave);
    const ids = several.map(waveId);
    let added = 0;
    await until('two runs of each', async () => {
      for (let index = 0; index < 20; index += 1) added += await queue.schedules.ensure(several);
      return ids.every((id) => runsOf(id).length >= 2);
    });
    expect(added).toBe(0);
    for (const { wave, slot, at } of runs) {
      expect(wave).toBe(waveId({ intervalSeconds: 1, offsetMs: slot % 1_000 }));
      expect(at).toBeGreaterThanOrEqual(slot - 20);
    }
    for (const own of ids.map(runsOf)) {
      for (const [index, { slot }] of own.slice(1).entries()) {
        const before = own[index];
        if (!before) throw new Error('no run before it');
        // A run that was late itself skips the slots that had passed by then.
        expect(slot).toBeGreaterThan(before.slot);
        expect(slot).toBeLessThanOrEqual(Math.max(before.slot, before.at) + 1_000);
      }
    }
  });
});
