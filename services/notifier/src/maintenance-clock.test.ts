import { describe, expect, test } from '@jest/globals';
import type { AdvancedWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createMaintenanceClock, type MaintenanceClockOptions } from './maintenance-clock.ts';
import { createNotifierMetrics } from './metrics.ts';

const NOTHING: AdvancedWindows = { startedLate: [], endedLate: [], brokenIds: [], refused: [] };

const SETTLED = { monitors: 0, statusChangeIds: [], refused: [] };

function optionsOf(override: Partial<MaintenanceClockOptions>): MaintenanceClockOptions {
  return {
    advance: async () => NOTHING,
    settle: async () => SETTLED,
    hint: async () => undefined,
    metrics: createNotifierMetrics(createMetrics()),
    logger: createSilentLogger(),
    ...override,
  };
}

/** Runs a round of the clock. */
const runClock = (options: MaintenanceClockOptions): Promise<void> =>
  createMaintenanceClock(options)(new AbortController().signal);

/** The measured values whose name ends so, each with its edge. */
async function latenessOf({ metrics }: MaintenanceClockOptions, ending: string): Promise<unknown[]> {
  const { values } = await metrics.maintenanceLateSeconds.get();
  return values
    .filter(({ metricName }) => metricName?.endsWith(ending))
    .map(({ labels, value }) => [labels.edge, value]);
}

describe('the maintenance clock', () => {
  test('advances the windows before each batch of monitors, until none differs, and hints at each change', async () => {
    const calls: string[] = [];
    let left = 2;
    const options = optionsOf({
      advance: async () => {
        calls.push('advance');
        return NOTHING;
      },
      settle: async () => {
        calls.push('settle');
        left -= 1;
        return left < 0 ? SETTLED : { ...SETTLED, monitors: 200, statusChangeIds: [`change-${left}`] };
      },
      hint: (ids) => {
        calls.push(...ids);
        // The queue's store is unavailable: the relay finds the changes.
        return Promise.reject(new Error('no store'));
      },
    });
    await runClock(options);
    const batch = ['advance', 'settle'];
    expect(calls).toEqual([...batch, 'change-1', ...batch, 'change-0', ...batch]);
  });

  test('stops between batches when its signal is aborted', async () => {
    const controller = new AbortController();
    let batches = 0;
    const options = optionsOf({
      settle: async () => {
        batches += 1;
        controller.abort();
        return { ...SETTLED, monitors: 200 };
      },
    });
    await createMaintenanceClock(options)(controller.signal);
    expect(batches).toBe(1);
  });

  test('leaves out monitors that Postgres refuses, for longer each time', async () => {
    let time = 0;
    const excluded: (readonly string[])[] = [];
    const refused = [{ id: 'a', error: new Error('refused') }];
    const options = optionsOf({
      now: () => time,
      settle: async (ids) => {
        excluded.push(ids);
        return ids.length === 0 ? { ...SETTLED, refused } : SETTLED;
      },
    });
    const run = createMaintenanceClock(options);
    for (const at of [0, 999, 1_000, 2_999, 3_000]) {
      time = at;
      await run(new AbortController().signal);
    }
    expect(excluded).toEqual([[], ['a'], [], ['a'], []]);
  });

  test('measures how late each occurrence has started and ended for its last monitor', async () => {
    let time = 0;
    let left = 2;
    const options = optionsOf({
      now: () => time,
      advance: async () => (left === 2 ? { ...NOTHING, startedLate: [0.2], endedLate: [0.3, 400] } : NOTHING),
      settle: async () => {
        time += 1_000;
        left -= 1;
        return { ...SETTLED, monitors: left < 0 ? 0 : 200 };
      },
    });
    await runClock(options);
    expect(await latenessOf(options, '_sum')).toEqual([
      ['start', expect.closeTo(3.2)],
      ['end', expect.closeTo(406.3)],
    ]);
  });

  test('measures the starts and ends of a failed round once a later round has changed their monitors', async () => {
    let time = 0;
    let rounds = 0;
    const options = optionsOf({
      now: () => time,
      advance: async () => (rounds === 0 ? { ...NOTHING, startedLate: [0.2] } : NOTHING),
      settle: async () => {
        time += 1_000;
        rounds += 1;
        if (rounds === 1) throw new Error('a deadlock');
        return SETTLED;
      },
    });
    const run = createMaintenanceClock(options);
    const { signal } = new AbortController();
    await expect(run(signal)).rejects.toThrow('a deadlock');
    await run(signal);
    await run(signal);
    expect(await latenessOf(options, '_count')).toEqual([['start', 1]]);
    expect(await latenessOf(options, '_sum')).toEqual([['start', expect.closeTo(2.2)]]);
  });
});
